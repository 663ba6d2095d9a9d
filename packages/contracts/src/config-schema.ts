import { DURATION_PATTERN } from './duration.ts'
import type { JsonSchema } from './json-schema.ts'

/** When a changed value takes effect: at once, by reloading its plugin, or at the next start. */
export type Apply = 'hot' | 'reload' | 'restart'

/** The override variable of a property. `invert`: a true variable sets the property to false. */
export interface EnvOverride {
  readonly name: string
  readonly invert?: boolean
}

function leaf(schema: JsonSchema, env: string | EnvOverride | undefined, apply: Apply): JsonSchema {
  return {
    ...schema,
    'x-apply': apply,
    ...(env === undefined ? {} : { 'x-env': typeof env === 'string' ? { name: env } : env }),
  }
}

function group(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', additionalProperties: false, default: {}, properties }
}

const text = (fallback: string, more: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  default: fallback,
  ...more,
})
const flag = (fallback: boolean): JsonSchema => ({ type: 'boolean', default: fallback })
const texts = (...fallback: readonly string[]): JsonSchema => ({
  type: 'array',
  items: { type: 'string', minLength: 1 },
  default: fallback,
})
const choice = (fallback: string, ...others: readonly string[]): JsonSchema => ({
  type: 'string',
  enum: [fallback, ...others],
  default: fallback,
})
const duration = (fallback: string): JsonSchema =>
  text(fallback, { pattern: DURATION_PATTERN, description: 'A duration such as 15s, 5m or 1h30m.' })

const byRole = (value: JsonSchema): JsonSchema => ({
  type: 'object',
  propertyNames: { pattern: '^[a-z][a-z0-9]{1,15}$' },
  additionalProperties: { type: 'string', ...value },
  default: {},
})

/** What a container engine takes as a name; anything else would change the path of a request to it. */
const CONTAINER_NAME = '[A-Za-z0-9][A-Za-z0-9_.-]{0,127}'
const CONTAINER: JsonSchema = {
  pattern: `^${CONTAINER_NAME}$`,
  description: 'the name of a container (letters, digits, "_", "." and "-", 128 at most)',
}
const CONTAINER_OR_EMPTY: JsonSchema = {
  pattern: `^(|${CONTAINER_NAME})$`,
  description: 'empty or the name of a container',
}
/** Which of them are addresses and which may be names depends on the role: the checks beyond types tell. */
const ADDRESSES: JsonSchema = byRole({ minLength: 1 })

/** S-NSSAI, TS 23.003 §28.4.2: sst 0 to 255, sd six hex digits. */
const SLICE: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['sst'],
  properties: {
    sst: { type: 'integer', minimum: 0, maximum: 255 },
    sd: { type: 'string', pattern: '^[0-9a-fA-F]{6}$' },
  },
}

const RADIO_PROFILE: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['technology', 'channel', 'bandwidth_mhz'],
  properties: {
    technology: { type: 'string', enum: ['lte', 'nr'] },
    channel: { type: 'integer', minimum: 0, maximum: 3_279_165 },
    band: { type: 'string', pattern: '^[bn][1-9][0-9]{0,2}$' },
    bandwidth_mhz: { type: 'number', exclusiveMinimum: 0, maximum: 2000 },
    eirp_dbm: { type: 'number', minimum: -60, maximum: 90 },
    // srsRAN takes a gain of 0 or less as "not set" and then sends with the receive gain.
    tx_gain_db: { type: 'number', exclusiveMinimum: 0, maximum: 100 },
    rx_gain_db: { type: 'number', exclusiveMinimum: 0, maximum: 100 },
  },
}

const IPV4_LITERAL = '(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:[.](?!$)|$)){4}'
const IPV4 = `^${IPV4_LITERAL}`
const IPV4_OR_EMPTY = `^$|^${IPV4_LITERAL}`
/** Printable, without `#` and quotes (they change the meaning of a line) and without `;` (it separates devices). */
const DEVICE_ARGS_PATTERN = '^[A-Za-z0-9_=,.:/*+-]{1,512}$'

const ALERT_RULE: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'metric', 'op', 'threshold', 'for', 'severity'],
  properties: {
    name: { type: 'string', pattern: '^[a-z][a-z0-9_-]{0,63}$' },
    metric: { type: 'string', pattern: '^[a-z][a-z0-9_]*$' },
    op: { type: 'string', enum: ['>', '>=', '<', '<=', '==', '!='] },
    threshold: { type: 'number' },
    for: { type: 'string', pattern: `${DURATION_PATTERN.slice(0, -1)}$|^0s?$` },
    severity: { type: 'string', enum: ['info', 'warning', 'critical'] },
  },
}

const ALERT_WEBHOOK: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['url', 'secret_file'],
  properties: {
    url: { type: 'string', pattern: '^https?://' },
    secret_file: { type: 'string', minLength: 1 },
    events: texts(),
  },
}

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
 * The configuration of the specification ("Runtime configuration") and of contract section 12, as one JSON Schema.
 *
 * Every property has a default. `x-env` is its override variable, `x-apply` when a change takes effect. Plugins that
 * the specification does not know add their own schema at their `config_path`.
 */
export const CONFIG_SCHEMA: JsonSchema = group({
  server: group({
    listen: leaf(text(':8080'), 'SVC_SERVER_LISTEN', 'restart'),
    data_dir: leaf(text('/var/lib/svc', { minLength: 1 }), 'SVC_SERVER_DATADIR', 'restart'),
    mode: leaf(choice('lab', 'rf'), 'SVC_SERVER_MODE', 'restart'),
    country: leaf(
      text('LAB', { pattern: '^(|LAB|[A-Z]{2})$', description: 'ISO 3166-1 alpha-2, or LAB.' }),
      'SVC_SERVER_COUNTRY',
      'hot',
    ),
    log_level: leaf(choice('info', 'debug', 'warn', 'error'), 'SVC_SERVER_LOGLEVEL', 'hot'),
    log_format: leaf(choice('json', 'console'), 'SVC_SERVER_LOGFORMAT', 'restart'),
    max_restore_bytes: leaf(
      { type: 'integer', minimum: 1_048_576, default: 4_294_967_296 },
      'SVC_SERVER_MAX_RESTORE_BYTES',
      'hot',
    ),
  }),
  plmn: group({
    mcc: leaf(text('999', { pattern: '^[0-9]{3}$' }), 'SVC_PLMN_MCC', 'hot'),
    mnc: leaf(text('99', { pattern: '^[0-9]{2,3}$' }), 'SVC_PLMN_MNC', 'hot'),
  }),
  tac: leaf({ type: 'integer', minimum: 0, maximum: 16_777_215, default: 7 }, 'SVC_TAC', 'hot'),
  apns: leaf(texts('internet', 'ims'), 'SVC_APNS', 'hot'),
  auth: group({
    bootstrap_token_ttl: leaf(duration('5m'), 'SVC_AUTH_BOOTSTRAP_TOKEN_TTL', 'hot'),
    admin_token_env: leaf(
      text('SVC_ADMIN_TOKEN', { pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }),
      'SVC_AUTH_ADMIN_TOKEN_ENV',
      'restart',
    ),
    metrics_allow: leaf(texts(...DEFAULT_METRICS_ALLOW), 'SVC_AUTH_METRICS_ALLOW', 'hot'),
  }),
  southbound: group({ driver: leaf(choice('none', 'container'), 'SVC_SOUTHBOUND_DRIVER', 'reload') }),
  hss: group({
    driver: leaf(choice('docdb_shell', 'dbctl', 'core_b', 'none'), 'SVC_HSS_DRIVER', 'reload'),
    container: leaf(text('mongo', CONTAINER), 'SVC_HSS_CONTAINER', 'reload'),
    mongo_url: leaf(text('', { pattern: '^(|mongodb(\\+srv)?://.+)$' }), 'SVC_HSS_MONGO_URL', 'reload'),
    engine_socket: leaf(
      text('', { pattern: '^(|/[^\\s]*)$', description: 'Absolute path of a socket, or empty.' }),
      'SVC_HSS_ENGINE_SOCKET',
      'reload',
    ),
    dbctl_path: leaf(text('open5gs-dbctl', { minLength: 1 }), 'SVC_HSS_DBCTL_PATH', 'reload'),
  }),
  peering: group({
    enabled: leaf(flag(true), { name: 'SVC_PEERING_DISABLED', invert: true }, 'reload'),
    mdns: leaf(flag(true), 'SVC_PEERING_MDNS', 'reload'),
  }),
  policy: group({
    local_breakout: leaf(flag(true), 'SVC_POLICY_LOCAL_BREAKOUT', 'hot'),
    max_ues: leaf(
      { type: 'integer', minimum: 1, maximum: 1_000_000, default: 128 },
      'SVC_POLICY_MAX_UES',
      'hot',
    ),
    apns: leaf(texts('internet', 'ims'), 'SVC_POLICY_APNS', 'hot'),
  }),
  telemetry: group({ metrics: leaf(flag(true), 'SVC_TELEMETRY_METRICS', 'hot') }),
  core: leaf(choice('core_a', 'core_b'), 'SVC_CORE', 'reload'),
  core_a: group({
    config_dir: leaf(text(''), 'SVC_CORE_A_CONFIG_DIR', 'reload'),
    config_mount: leaf(
      text('/etc/open5gs', {
        pattern: '^/[A-Za-z0-9_./-]{0,254}$',
        description: 'an absolute path (where the daemons see config_dir)',
      }),
      'SVC_CORE_A_CONFIG_MOUNT',
      'reload',
    ),
    containers: leaf(byRole(CONTAINER), undefined, 'reload'),
    addresses: leaf(ADDRESSES, undefined, 'reload'),
    subnet: leaf(text('10.45.0.0/16'), 'SVC_CORE_A_SUBNET', 'reload'),
    slices: leaf({ type: 'array', items: SLICE, maxItems: 8, default: [{ sst: 1 }] }, undefined, 'reload'),
  }),
  core_b: group({
    amf_oam_url: leaf(text('http://amf:8000', { pattern: '^https?://' }), 'SVC_CORE_B_AMF_OAM_URL', 'reload'),
    cdr_dir: leaf(text(''), 'SVC_CORE_B_CDR_DIR', 'reload'),
    nrf_url: leaf(text('', { pattern: '^(|https?://.+)$' }), 'SVC_CORE_B_NRF_URL', 'reload'),
    smf_oam_url: leaf(text('', { pattern: '^(|https?://.+)$' }), 'SVC_CORE_B_SMF_OAM_URL', 'reload'),
    config_dir: leaf(text(''), 'SVC_CORE_B_CONFIG_DIR', 'reload'),
    containers: leaf(byRole(CONTAINER), undefined, 'reload'),
    addresses: leaf(ADDRESSES, undefined, 'reload'),
    subnet: leaf(text('10.60.0.0/15'), 'SVC_CORE_B_SUBNET', 'reload'),
    slices: leaf(
      { type: 'array', items: SLICE, maxItems: 8, default: [{ sst: 1, sd: '010203' }] },
      undefined,
      'reload',
    ),
    release: leaf(
      text('4.2.3', {
        pattern: '^[34][.][0-9]{1,2}[.][0-9]{1,2}$',
        description: 'a release of free5GC such as 4.2.3',
      }),
      'SVC_CORE_B_RELEASE',
      'reload',
    ),
    oauth: leaf(flag(true), 'SVC_CORE_B_OAUTH', 'reload'),
    charging: leaf(flag(true), 'SVC_CORE_B_CHARGING', 'reload'),
  }),
  collector: group({
    enabled: leaf(flag(false), 'SVC_COLLECTOR_ENABLED', 'reload'),
    interval: leaf(duration('15s'), 'SVC_COLLECTOR_INTERVAL', 'reload'),
    mme_url: leaf(
      text('http://127.0.0.2:9090', { pattern: '^https?://' }),
      'SVC_COLLECTOR_MME_URL',
      'reload',
    ),
    smf_url: leaf(text('', { pattern: '^(|https?://.+)$' }), 'SVC_COLLECTOR_SMF_URL', 'reload'),
    upf: group({
      enabled: leaf(flag(false), 'SVC_COLLECTOR_UPF_ENABLED', 'reload'),
      iface: leaf(text('', { pattern: '^[^\\s/]{0,15}$' }), 'SVC_COLLECTOR_UPF_IFACE', 'reload'),
    }),
  }),
  fairuse: group({
    enabled: leaf(flag(false), 'SVC_FAIRUSE_ENABLED', 'reload'),
    usage_interval: leaf(duration('60s'), 'SVC_FAIRUSE_USAGE_INTERVAL', 'reload'),
  }),
  esim: group({
    enabled: leaf(flag(false), 'SVC_ESIM_ENABLED', 'reload'),
    smdp_address: leaf(text(''), 'SVC_ESIM_SMDP_ADDRESS', 'reload'),
    single_use: leaf(flag(true), 'SVC_ESIM_SINGLE_USE', 'reload'),
    certs_dir: leaf(text(''), 'SVC_ESIM_CERTS_DIR', 'reload'),
    template: leaf(text(''), 'SVC_ESIM_TEMPLATE', 'reload'),
  }),
  alerts: group({
    enabled: leaf(flag(false), 'SVC_ALERTS_ENABLED', 'reload'),
    rules: leaf({ type: 'array', items: ALERT_RULE, default: [] }, undefined, 'reload'),
    webhooks: leaf({ type: 'array', items: ALERT_WEBHOOK, default: [] }, undefined, 'reload'),
  }),
  ran: group({
    binary: leaf(text(''), 'SVC_RAN_BINARY', 'reload'),
    container: leaf(text('', CONTAINER_OR_EMPTY), 'SVC_RAN_CONTAINER', 'reload'),
    args: leaf(texts(), 'SVC_RAN_ARGS', 'reload'),
    template_dir: leaf(text(''), 'SVC_RAN_TEMPLATE_DIR', 'reload'),
    program: leaf(choice('srsenb', 'gnb'), 'SVC_RAN_PROGRAM', 'reload'),
    device_name: leaf(text('auto', { pattern: '^[A-Za-z0-9_]{1,32}$' }), 'SVC_RAN_DEVICE_NAME', 'reload'),
    device_args: leaf(text('auto', { pattern: DEVICE_ARGS_PATTERN }), 'SVC_RAN_DEVICE_ARGS', 'reload'),
    mme_addr: leaf(text('', { pattern: IPV4_OR_EMPTY }), 'SVC_RAN_MME_ADDR', 'reload'),
    amf_addr: leaf(text('', { pattern: IPV4_OR_EMPTY }), 'SVC_RAN_AMF_ADDR', 'reload'),
    bind_addr: leaf(text('127.0.1.1', { pattern: IPV4 }), 'SVC_RAN_BIND_ADDR', 'reload'),
    gtp_bind_addr: leaf(text('', { pattern: IPV4_OR_EMPTY }), 'SVC_RAN_GTP_BIND_ADDR', 'reload'),
    gtp_advertise_addr: leaf(text('', { pattern: IPV4_OR_EMPTY }), 'SVC_RAN_GTP_ADVERTISE_ADDR', 'reload'),
    // TS 36.413 §9.2.1.37: a macro eNB id has 20 bits; srsenb sends a longer one as 0.
    enb_id: leaf({ type: 'integer', minimum: 0, maximum: 0xfffff, default: 411 }, 'SVC_RAN_ENB_ID', 'reload'),
    // TS 38.413 §9.3.1.6: 22 to 32 bits; the driver announces 22.
    gnb_id: leaf(
      { type: 'integer', minimum: 0, maximum: 0x3fffff, default: 411 },
      'SVC_RAN_GNB_ID',
      'reload',
    ),
    cell_id: leaf({ type: 'integer', minimum: 0, maximum: 255, default: 1 }, 'SVC_RAN_CELL_ID', 'reload'),
    pci: leaf({ type: 'integer', minimum: 0, maximum: 1007, default: 1 }, 'SVC_RAN_PCI', 'reload'),
    scs_khz: leaf({ type: 'integer', enum: [15, 30], default: 30 }, 'SVC_RAN_SCS_KHZ', 'reload'),
    remote_control_port: leaf(
      { type: 'integer', minimum: 1, maximum: 65_535, default: 8001 },
      'SVC_RAN_REMOTE_CONTROL_PORT',
      'reload',
    ),
    virtual_profile: leaf(
      text('', { pattern: '^(|[a-z0-9][a-z0-9_-]{0,63})$' }),
      'SVC_RAN_VIRTUAL_PROFILE',
      'reload',
    ),
    profiles: leaf(
      {
        type: 'object',
        propertyNames: { pattern: '^[a-z0-9][a-z0-9_-]{0,63}$' },
        additionalProperties: RADIO_PROFILE,
        default: {},
      },
      undefined,
      'hot',
    ),
  }),
  store: group({
    url: leaf(text('', { pattern: '^(|sqlite:.+|postgres(ql)?://.+)$' }), 'SVC_STORE_URL', 'restart'),
  }),
  plugins: group({
    dir: leaf(text(''), 'SVC_PLUGINS_DIR', 'restart'),
    disabled: leaf(texts(), 'SVC_PLUGINS_DISABLED', 'restart'),
  }),
  tls: group({ enabled: leaf(flag(false), 'SVC_TLS_ENABLED', 'restart') }),
})

/** The variable that holds the admin bearer token unless `auth.admin_token_env` names another. Not configuration. */
export const ADMIN_TOKEN_VARIABLE = 'SVC_ADMIN_TOKEN'
