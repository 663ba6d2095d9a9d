import { type JsonSchema, objectSchema } from '@steeple/contracts'

/** One file of the plan. */
export interface PlannedFile {
  readonly path: string
  readonly change: 'added' | 'changed' | 'removed' | 'same'
  readonly daemon: string | null
  /** Unified, without secrets; absent for a file that stays as it is. */
  readonly diff?: string
}

/** The answer of `GET /v1/core/plan`. */
export interface CorePlan {
  readonly core: string
  readonly driver: 'container' | 'none'
  /** Empty when none is configured. */
  readonly config_dir: string
  /** `unknown`: the directory cannot be read, or none is configured. */
  readonly state: 'in_sync' | 'changes' | 'unknown'
  readonly files: readonly PlannedFile[]
  /** Those that restart first, in that order. */
  readonly daemons: readonly {
    readonly name: string
    readonly container: string | null
    readonly action: 'restart' | 'none'
    readonly drops: 'lte' | 'nr' | 'all' | 'none'
    readonly reason: string
  }[]
  /** How many subscribers lose their connection; null when the core does not tell. */
  readonly subscribers_dropped: number | null
  readonly problems: readonly string[]
}

const text: JsonSchema = { type: 'string' }
const nullableText: JsonSchema = { type: ['string', 'null'] }

/** Schema of `CorePlan`. */
export const CORE_PLAN_SCHEMA: JsonSchema = objectSchema(
  {
    core: { type: 'string', enum: ['core_a', 'core_b'] },
    driver: { type: 'string', enum: ['container', 'none'] },
    config_dir: text,
    state: {
      type: 'string',
      enum: ['in_sync', 'changes', 'unknown'],
      description: 'unknown: the directory cannot be read, or none is configured.',
    },
    files: {
      type: 'array',
      items: objectSchema(
        {
          path: text,
          change: { type: 'string', enum: ['added', 'changed', 'removed', 'same'] },
          daemon: nullableText,
          diff: { ...text, description: 'Unified; passwords and keys are left out.' },
        },
        ['path', 'change', 'daemon'],
      ),
    },
    daemons: {
      type: 'array',
      description: 'Those that restart first, in that order.',
      items: objectSchema(
        {
          name: text,
          container: nullableText,
          action: { type: 'string', enum: ['restart', 'none'] },
          drops: { type: 'string', enum: ['lte', 'nr', 'all', 'none'] },
          reason: text,
        },
        ['name', 'container', 'action', 'drops', 'reason'],
      ),
    },
    subscribers_dropped: {
      type: ['integer', 'null'],
      description: 'How many subscribers lose their connection; null when the core does not tell.',
    },
    problems: { type: 'array', items: text },
  },
  ['core', 'driver', 'config_dir', 'state', 'files', 'daemons', 'subscribers_dropped', 'problems'],
)
