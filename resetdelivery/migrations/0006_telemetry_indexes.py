from django.db import migrations, models

from resetdelivery.migrations._concurrently import AddIndexConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('resetdelivery', '0005_telemetry'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='attempt',
            index=models.Index(fields=['started_at'], name='resetdelivery_attempt_started'),
        ),
        AddIndexConcurrently(
            model_name='attempt',
            index=models.Index(condition=models.Q(('receipt_at__isnull', False)), fields=['receipt_at'], name='resetdelivery_attempt_told'),
        ),
        AddIndexConcurrently(
            model_name='attempt',
            index=models.Index(condition=models.Q(('late_at__isnull', False)), fields=['late_at'], name='resetdelivery_attempt_late'),
        ),
        AddIndexConcurrently(
            model_name='attempt',
            index=models.Index(condition=models.Q(('provider_reference', ''), _negated=True), fields=['started_at'], name='resetdelivery_attempt_named'),
        ),
        AddIndexConcurrently(
            model_name='delivery',
            index=models.Index(condition=models.Q(('finished_at__isnull', False)), fields=['finished_at'], name='resetdelivery_delivery_ended'),
        ),
        AddIndexConcurrently(
            model_name='resetintent',
            index=models.Index(fields=['created_at'], name='resetdelivery_intent_created'),
        ),
        AddIndexConcurrently(
            model_name='resetintent',
            index=models.Index(condition=models.Q(('scrubbed_at', None), ('state', 'closed')), fields=['closed_at', 'id'], name='resetdelivery_intent_scrub'),
        ),
        AddIndexConcurrently(
            model_name='resetintent',
            index=models.Index(condition=models.Q(('state', 'closed'), ('traced_at', None), models.Q(('traceparent', ''), _negated=True)), fields=['id'], name='resetdelivery_intent_trace'),
        ),
    ]
