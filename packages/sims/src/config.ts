import { DURATION_PATTERN, type JsonSchema, objectSchema } from '@steeple/contracts'

/** Configuration at `sims`. Durations as written. */
export interface SimsConfig {
  /** How long a SIM lives unless it is said otherwise. */
  readonly default_expiry: string
  /** How often every subscriber in the HSS is compared with what it should be. */
  readonly drift_interval: string
  /** How often the core is asked who is attached. */
  readonly attach_interval: string
  /** SIMs that this node keeps, revoked ones included. */
  readonly max_sims: number
  /** Aggregate maximum bit rate of a SIM unless it is said otherwise, bit/s. */
  readonly default_downlink_bps: number
  readonly default_uplink_bps: number
  /** File with the operator's OP, 32 hex digits; a random OP for each SIM while it is empty. */
  readonly op_file: string
}

const duration = (fallback: string, variable: string): JsonSchema => ({
  type: 'string',
  pattern: DURATION_PATTERN,
  default: fallback,
  'x-env': { name: variable },
  'x-apply': 'reload',
})
const whole = (fallback: number, maximum: number, variable: string): JsonSchema => ({
  type: 'integer',
  minimum: 1,
  maximum,
  default: fallback,
  'x-env': { name: variable },
  'x-apply': 'reload',
})

/** The largest AMBR that a subscriber can have: TS 29.272 §7.3.41, extended bandwidth, 4 Tbit/s in practice. */
export const MAX_BPS = 4_000_000_000_000

/** Schema of the configuration. */
export const SIMS_CONFIG: JsonSchema = objectSchema(
  {
    default_expiry: duration('1y', 'SVC_SIMS_DEFAULT_EXPIRY'),
    drift_interval: duration('5m', 'SVC_SIMS_DRIFT_INTERVAL'),
    attach_interval: duration('5s', 'SVC_SIMS_ATTACH_INTERVAL'),
    max_sims: whole(1_000_000, 10_000_000, 'SVC_SIMS_MAX_SIMS'),
    default_downlink_bps: whole(1_000_000_000, MAX_BPS, 'SVC_SIMS_DEFAULT_DOWNLINK_BPS'),
    default_uplink_bps: whole(1_000_000_000, MAX_BPS, 'SVC_SIMS_DEFAULT_UPLINK_BPS'),
    op_file: {
      type: 'string',
      default: '',
      'x-env': { name: 'SVC_SIMS_OP_FILE' },
      'x-apply': 'reload',
    },
  },
  [],
  { default: {} },
)
