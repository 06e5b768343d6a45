-- Roles for PostgreSQL, each with the rights that its processes need and no others.
--
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -v accounts=marketplace_user \
--        -v web_password="$WEB_PASSWORD" -v worker_password="$WORKER_PASSWORD" \
--        -v control_password="$CONTROL_PASSWORD" \
--        -v api_password="$API_PASSWORD" -v migrate_password="$MIGRATE_PASSWORD" \
--        -f ops/postgres/roles.sql
--
-- Run it as a superuser once the tables are there, and again after each migration; it can be repeated.
-- `accounts` is the table of the user model. What a shop's own pages need besides (sessions, orders), give to
-- resetdelivery_web yourself.
--
--   resetdelivery_web      the public pages: admits resets, takes receipts, sets passwords
--   resetdelivery_worker   workers of the channels: reads accounts, writes deliveries and attempts
--   resetdelivery_control  the worker of the queue `control`, beat, the poller, `manage.py purge`: the same, counts
--                          everything, and deletes what is kept no longer
--   resetdelivery_api      the private listener, and the admin: both of these but for passwords, and keys
--   resetdelivery_migrate  owns the tables: `manage.py migrate` and `manage.py api_key`

\set QUIET on
BEGIN;

SELECT format('CREATE ROLE %I', wanted)
FROM unnest(ARRAY['resetdelivery_admits', 'resetdelivery_delivers', 'resetdelivery_web',
                  'resetdelivery_worker', 'resetdelivery_control', 'resetdelivery_api',
                  'resetdelivery_migrate']) AS wanted
WHERE NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = wanted)
\gexec

ALTER ROLE resetdelivery_web LOGIN PASSWORD :'web_password';
ALTER ROLE resetdelivery_worker LOGIN PASSWORD :'worker_password';
ALTER ROLE resetdelivery_control LOGIN PASSWORD :'control_password';
ALTER ROLE resetdelivery_api LOGIN PASSWORD :'api_password';
ALTER ROLE resetdelivery_migrate LOGIN PASSWORD :'migrate_password';

REVOKE CREATE ON SCHEMA public FROM PUBLIC;

-- What somebody had by an older version of this file goes first.
SELECT format('REVOKE ALL ON TABLE %I FROM resetdelivery_admits, resetdelivery_delivers, resetdelivery_web, '
              'resetdelivery_worker, resetdelivery_control, resetdelivery_api', tablename)
FROM pg_tables
WHERE schemaname = 'public' AND (tablename LIKE 'resetdelivery\_%' OR tablename = :'accounts')
\gexec

-- Migrations -------------------------------------------------------------------------------------------------
GRANT CREATE, USAGE ON SCHEMA public TO resetdelivery_migrate;
SELECT format('ALTER TABLE %I OWNER TO resetdelivery_migrate', tablename)
FROM pg_tables
WHERE schemaname = 'public' AND tablename LIKE 'resetdelivery\_%'
\gexec
GRANT SELECT, INSERT, UPDATE, DELETE ON django_migrations, django_content_type, auth_permission
TO resetdelivery_migrate;

-- Admitting a request -----------------------------------------------------------------------------------------
GRANT SELECT ON :"accounts" TO resetdelivery_admits;
GRANT SELECT, INSERT ON resetdelivery_resetintent, resetdelivery_delivery, resetdelivery_idempotencykey,
    resetdelivery_limituse TO resetdelivery_admits;
GRANT UPDATE (cancel_requested_at, cancel_reason, state, closed_at) ON resetdelivery_resetintent
TO resetdelivery_admits;
GRANT UPDATE (state, reason, finished_at, hinted_at, first_hint) ON resetdelivery_delivery
TO resetdelivery_admits;
GRANT SELECT ON resetdelivery_channelcontrol, resetdelivery_providercircuit, resetdelivery_attempt
TO resetdelivery_admits;
-- An entry can be added and neither read, changed nor taken away: Django asks for the new row's id only.
GRANT INSERT, SELECT (id) ON resetdelivery_auditentry TO resetdelivery_admits;

-- Delivering it: whose a delivery is, on which channel, until when and who sends it stay as they were admitted --
GRANT SELECT ON :"accounts" TO resetdelivery_delivers;
GRANT SELECT ON resetdelivery_resetintent, resetdelivery_delivery TO resetdelivery_delivers;
GRANT UPDATE (cancel_requested_at, cancel_reason, state, closed_at, traced_at) ON resetdelivery_resetintent
TO resetdelivery_delivers;
GRANT UPDATE (state, claims, attempts, due_at, lease_owner, lease_token, lease_expires_at, hinted_at, outcome,
    reason, segments_bucket, finished_at, arm_at, arm_reason, first_hint) ON resetdelivery_delivery
TO resetdelivery_delivers;
GRANT SELECT, INSERT ON resetdelivery_attempt TO resetdelivery_delivers;
GRANT UPDATE (finished_at, outcome, late_outcome, late_at, reason, duration_seconds, provider_reference)
ON resetdelivery_attempt TO resetdelivery_delivers;
GRANT SELECT, INSERT, UPDATE ON resetdelivery_channelcontrol, resetdelivery_providercircuit
TO resetdelivery_delivers;
GRANT INSERT, SELECT (id) ON resetdelivery_auditentry TO resetdelivery_delivers;

-- Counting what happens as it does, and reading the counts ------------------------------------------------------
-- Whoever counts holds still up to where counts are final (UPDATE of a column is what locking the row asks for),
-- and cannot move that: it says what may be deleted.
GRANT SELECT, INSERT, UPDATE ON resetdelivery_eventminute TO resetdelivery_admits, resetdelivery_delivers;
GRANT SELECT, INSERT, UPDATE (id) ON resetdelivery_rollupstate TO resetdelivery_admits, resetdelivery_delivers;
GRANT SELECT ON resetdelivery_outcomeminute, resetdelivery_eventtotal, resetdelivery_outcometotal,
    resetdelivery_jobrun
TO resetdelivery_admits, resetdelivery_delivers;

-- The processes -------------------------------------------------------------------------------------------------
GRANT resetdelivery_admits TO resetdelivery_web;
GRANT UPDATE ON :"accounts" TO resetdelivery_web;
GRANT UPDATE (receipt, receipt_reason, receipt_at) ON resetdelivery_attempt TO resetdelivery_web;
GRANT UPDATE (traced_at) ON resetdelivery_resetintent TO resetdelivery_web;
-- What a receipt moves on: its delivery, and the channels that waited for it.
GRANT UPDATE (outcome, lease_owner, lease_expires_at, due_at, arm_at, arm_reason) ON resetdelivery_delivery
TO resetdelivery_web;

GRANT resetdelivery_delivers TO resetdelivery_worker;

GRANT resetdelivery_delivers TO resetdelivery_control;
GRANT INSERT, UPDATE ON resetdelivery_outcomeminute, resetdelivery_rollupstate, resetdelivery_eventtotal,
    resetdelivery_outcometotal, resetdelivery_jobrun
TO resetdelivery_control;
-- The only process that deletes, or takes an account out of a reset. (UPDATE of a column is what locking a row
-- asks for.) Audit entries are for their owner alone: `manage.py purge` as resetdelivery_migrate takes old ones.
GRANT SELECT, DELETE ON resetdelivery_resetintent, resetdelivery_delivery, resetdelivery_attempt,
    resetdelivery_idempotencykey, resetdelivery_limituse, resetdelivery_eventminute, resetdelivery_outcomeminute
TO resetdelivery_control;
GRANT UPDATE (id) ON resetdelivery_idempotencykey, resetdelivery_limituse TO resetdelivery_control;
GRANT UPDATE (account_ref, account_digest, scrubbed_at) ON resetdelivery_resetintent TO resetdelivery_control;

GRANT resetdelivery_admits, resetdelivery_delivers TO resetdelivery_api;
GRANT SELECT ON resetdelivery_apiclient, resetdelivery_apikey, resetdelivery_auditentry TO resetdelivery_api;
GRANT UPDATE (last_used_at) ON resetdelivery_apikey TO resetdelivery_api;

COMMIT;
