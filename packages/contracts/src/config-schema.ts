import type { JsonSchema } from './json-schema.ts'

/** When a changed value takes effect: at once, by reloading its plugin, or at the next start. */
export type Apply = 'hot' | 'reload' | 'restart'

/** The override variable of a property. `invert`: a true variable sets the property to false. */
export interface EnvOverride {
  readonly name: string
  readonly invert?: boolean
}

function leaf(description: string, env: string, apply: Apply, schema: JsonSchema): JsonSchema {
  return { description, ...schema, 'x-apply': apply, 'x-env': { name: env } }
}

function group(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', properties }
}

const text = (fallback: string, more: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  default: fallback,
  ...more,
})
const flag = (fallback: boolean): JsonSchema => ({ type: 'boolean', default: fallback })
const texts = (fallback: readonly string[], more: JsonSchema = {}): JsonSchema => ({
  type: 'array',
  items: { type: 'string', minLength: 1, ...more },
  default: fallback,
})
const choice = (fallback: string, ...others: readonly string[]): JsonSchema =>
  text(fallback, { enum: [fallback, ...others] })

/** Of `plugins.trust`: an Ed25519 public key (RFC 8032), 32 octets in base64url, and the name of who has it. */
const PLUGIN_KEY_PATTERN = '^ed25519:[A-Za-z0-9_-]{43} [A-Za-z0-9][A-Za-z0-9._@-]{0,63}$'

const INSTANCE_NAME = text('', {
  pattern: '^[A-Za-z0-9_.-]{0,64}$',
  'x-allowed': 'letters, digits, "_", "." and "-" (64 at most), or empty',
})

/** Default of `auth.metrics_allow`: loopback and the private ranges of RFC 1918 and RFC 4193. */
export const DEFAULT_METRICS_ALLOW: readonly string[] = [
  '127.0.0.0/8',
  '::1/128',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  'fc00::/7',
]

/**
 * The service's own part of the configuration. All other keys belong to plugins: their manifests name the file with
 * their schema (`steeple.config`), which has the same keywords.
 */
export const SERVICE_CONFIG: JsonSchema = {
  ...group({
    server: group({
      listen: leaf('Address of the REST API and the metrics.', 'SVC_SERVER_LISTEN', 'restart', {
        ...text(':8080', { format: 'listen-address', minLength: 1 }),
      }),
      plain_listen: leaf(
        'Address for plain HTTP beside TLS, on this machine only. Empty: none.',
        'SVC_SERVER_PLAIN_LISTEN',
        'restart',
        text('', { format: 'loopback-address' }),
      ),
      trusted_proxies: leaf(
        'Addresses of your reverse proxies, and no others. Their `X-Forwarded-For` and `X-Forwarded-Proto` are trusted.',
        'SVC_SERVER_TRUSTED_PROXIES',
        'hot',
        texts([], { format: 'cidr' }),
      ),
      data_dir: leaf(
        'Folder of store, keys and installed plugins. A relative path in a file starts at the folder of that file.',
        'SVC_SERVER_DATADIR',
        'restart',
        text('/var/lib/svc', { minLength: 1, format: 'own-folder' }),
      ),
      mode: leaf(
        '`rf`: a radio may transmit; needs `server.country`. `lab`: a virtual radio may run without an armed TX gate.',
        'SVC_SERVER_MODE',
        'restart',
        choice('lab', 'rf'),
      ),
      country: leaf(
        'Country with the radio rules that apply.',
        'SVC_SERVER_COUNTRY',
        'hot',
        text('LAB', {
          pattern: '^(|LAB|[A-Z]{2})$',
          'x-allowed': 'two capital letters (ISO 3166-1), LAB or empty',
          'x-shown': true,
          'x-settable': true,
        }),
      ),
      log_level: leaf(
        'Lowest level that is logged.',
        'SVC_SERVER_LOGLEVEL',
        'hot',
        choice('info', 'debug', 'warn', 'error'),
      ),
      log_format: leaf('Format of the log.', 'SVC_SERVER_LOGFORMAT', 'restart', choice('json', 'console')),
      max_restore_bytes: leaf(
        'Largest backup that can be restored, in bytes.',
        'SVC_SERVER_MAX_RESTORE_BYTES',
        'hot',
        {
          type: 'integer',
          minimum: 1_048_576,
          default: 4_294_967_296,
        },
      ),
    }),
    auth: group({
      bootstrap_token_ttl: leaf(
        'How long a bootstrap token is valid.',
        'SVC_AUTH_BOOTSTRAP_TOKEN_TTL',
        'hot',
        text('5m', { format: 'duration', minLength: 1 }),
      ),
      admin_token_env: leaf(
        'Environment variable with the admin bearer token.',
        'SVC_AUTH_ADMIN_TOKEN_ENV',
        'restart',
        text('SVC_ADMIN_TOKEN', {
          pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
          'x-allowed': 'the name of an environment variable, not the token itself',
        }),
      ),
      metrics_allow: leaf(
        'Addresses that may read /metrics without a credential.',
        'SVC_AUTH_METRICS_ALLOW',
        'hot',
        texts(DEFAULT_METRICS_ALLOW, { format: 'cidr' }),
      ),
    }),
    telemetry: group({
      metrics: leaf('Serve /metrics.', 'SVC_TELEMETRY_METRICS', 'hot', flag(true)),
    }),
    store: group({
      url: leaf(
        'URL of the store. Empty: `sqlite:<data_dir>/svc.db`.',
        'SVC_STORE_URL',
        'restart',
        text('', { format: 'store-url' }),
      ),
    }),
    cluster: group({
      instance: leaf(
        'Name of this instance. Empty: no other instance uses the store.',
        'SVC_CLUSTER_INSTANCE',
        'restart',
        INSTANCE_NAME,
      ),
      machine: leaf(
        'Name of the instance that runs the radio and the core.',
        'SVC_CLUSTER_MACHINE',
        'restart',
        INSTANCE_NAME,
      ),
    }),
    plugins: group({
      dir: leaf(
        'Folder of installed plugins. Empty: `<data_dir>/plugins`.',
        'SVC_PLUGINS_DIR',
        'restart',
        text('', { format: 'own-folder' }),
      ),
      disabled: leaf('Plugins that are not loaded.', 'SVC_PLUGINS_DISABLED', 'restart', texts([])),
      trust: leaf(
        'Public keys, each with a name. Plugins signed with one of them are loaded.',
        'SVC_PLUGINS_TRUST',
        'hot',
        {
          ...texts([], { pattern: PLUGIN_KEY_PATTERN }),
          'x-allowed': 'a list of keys as `svc plugin key` prints them, like "ed25519:… alice"',
          'x-shown': true,
        },
      ),
      allow_unsigned: leaf(
        'Also load plugins that no trusted key has signed.',
        'SVC_PLUGINS_ALLOW_UNSIGNED',
        'hot',
        flag(false),
      ),
    }),
    tls: group({
      enabled: leaf(
        'TLS on `server.listen`, with a request for a client certificate. Plaintext connections are then closed.',
        'SVC_TLS_ENABLED',
        'restart',
        flag(false),
      ),
      min_version: leaf(
        'Oldest version of TLS that is accepted.',
        'SVC_TLS_MIN_VERSION',
        'restart',
        choice('TLSv1.3', 'TLSv1.2'),
      ),
      cert_file: leaf(
        "Certificate to present, with its chain (PEM). It is read again when it changes. Empty: the node's own certificate.",
        'SVC_TLS_CERT_FILE',
        'hot',
        text(''),
      ),
      key_file: leaf(
        'Private key of `tls.cert_file` (PEM, without a passphrase).',
        'SVC_TLS_KEY_FILE',
        'hot',
        text(''),
      ),
    }),
  }),
  allOf: [
    {
      if: { properties: { server: { properties: { mode: { const: 'rf' } } } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: {
        properties: {
          server: {
            properties: {
              country: {
                pattern: '^(?!LAB)[A-Z]{2}$',
                'x-allowed': 'the country (two letters, ISO 3166-1) when server.mode is rf',
              },
            },
          },
        },
      },
    },
  ],
}

/** The variable that holds the admin bearer token unless `auth.admin_token_env` names another. Not configuration. */
export const ADMIN_TOKEN_VARIABLE = 'SVC_ADMIN_TOKEN'

/** The metrics of the service itself, which alert rules may name; those of plugins are in their manifests. */
export const SERVICE_METRICS: readonly string[] = [
  'nodejs_eventloop_lag_seconds',
  'nodejs_eventloop_utilization_ratio',
  'nodejs_heap_size_used_bytes',
  'process_cpu_seconds_total',
  'process_open_fds',
  'process_resident_memory_bytes',
  'process_start_time_seconds',
  'svc_cluster_epoch',
  'svc_cluster_leader',
  'svc_http_connections_open',
  'svc_http_event_streams_open',
  'svc_http_generations_total',
  'svc_http_request_duration_seconds',
  'svc_http_requests_total',
  'svc_kernel_metric_refused_total',
  'svc_kernel_store_check_rows',
  'svc_kernel_store_checked_rows',
  'svc_reconcile_active_workers',
  'svc_reconcile_duration_seconds',
  'svc_reconcile_queue_depth',
  'svc_reconcile_total',
]
