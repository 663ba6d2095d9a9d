import {
  type Context,
  DURATION_PATTERN,
  type JsonSchema,
  type LogLevel,
  type LogLevelHold,
  logControlRef,
  msFromDuration,
  objectSchema,
  ok,
  type Route,
  recordSchema,
  route,
  timestampFromMs,
  validationFailed,
} from '@steeple/contracts'

interface LevelBody {
  readonly component?: string
  /** Null: the configuration's again. */
  readonly level: LogLevel | null
  readonly for?: string
}

const FALLS_BACK_AFTER = '15m'
const LONGEST_MS = 24 * 3_600_000
const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

const TEXT: JsonSchema = { type: 'string' }
const LEVEL: JsonSchema = { type: 'string', enum: [...LEVELS] }
const VIEW_SCHEMA = recordSchema({
  level: { ...LEVEL, description: 'That of the configuration: what holds where nothing else does.' },
  components: {
    type: 'array',
    items: TEXT,
    description: 'What writes into the log: plugins, and parts of the kernel.',
  },
  holds: {
    type: 'array',
    items: recordSchema({
      component: { type: ['string', 'null'], description: 'Null: all that have no level of their own.' },
      level: LEVEL,
      until: {
        ...TEXT,
        format: 'date-time',
        description: 'Then the level of the configuration holds again.',
      },
    }),
  },
})

/** `GET /v1/log-level`, `PUT /v1/log-level` */
export function levelRoutes(context: Context): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/log-level',
      role: 'admin',
      summary: 'Show what is logged, by component, and until when',
      description: 'Levels that were set for a while return by themselves.',
      schema: { response: VIEW_SCHEMA },
      handle: async () => ok(levelView(context, context.use(logControlRef).holds())),
    }),
    route<unknown, unknown, LevelBody>({
      method: 'PUT',
      path: '/v1/log-level',
      role: 'admin',
      summary: 'Log more or less for a time, for one component or all',
      description:
        `It ends by itself after \`for\` (${FALLS_BACK_AFTER} when absent, at most 24h) and with the process; null as the level ends ` +
        'it now. Where instances share a store it holds on the one that is asked.',
      example: { component: 'sims', level: 'debug', for: '15m' },
      audit: 'log.level',
      schema: {
        body: objectSchema(
          {
            component: { ...TEXT, maxLength: 200, description: 'All when absent.' },
            level: { type: ['string', 'null'], enum: [...LEVELS, null] },
            for: { ...TEXT, pattern: DURATION_PATTERN, maxLength: 32 },
          },
          ['level'],
        ),
        response: VIEW_SCHEMA,
      },
      errors: ['validation_failed'],
      handle: async (request) => {
        const { body } = request
        const forMs = lengthOf(body)
        refuseUnknown(context, body.component)
        return await request.mutate(body.component ?? 'all', async (tx) => {
          tx.audit({
            detail: { level: body.level, ...(body.level === null ? {} : { for_s: forMs / 1_000 }) },
          })
          tx.afterCommit(() => hold(context, body, forMs))
          return ok(levelView(context, holdsWith(context, body, forMs)))
        })
      },
    }),
  ]
}

function lengthOf({ for: given = FALLS_BACK_AFTER }: LevelBody): number {
  const ms = msFromDuration(given)
  if (ms !== undefined && ms <= LONGEST_MS) return ms
  throw validationFailed('for is a duration of at most 24h, such as 15m')
}

function refuseUnknown(context: Context, component: string | undefined): void {
  if (component === undefined) return
  const known = context.use(logControlRef).components()
  if (known.includes(component)) return
  throw validationFailed(`component is none that logs; it is one of ${known.join(', ')}`)
}

function hold(context: Context, { component, level }: LevelBody, forMs: number): void {
  context.use(logControlRef).hold(component, level ?? undefined, forMs)
}

/** What holds once the change is durable. */
function holdsWith(context: Context, body: LevelBody, forMs: number): readonly LogLevelHold[] {
  const { component, level } = body
  const others = context
    .use(logControlRef)
    .holds()
    .filter((held) => held.component !== component)
  return level === null ? others : [...others, { component, level, untilMs: context.clock.nowMs() + forMs }]
}

/** What is logged, and until when. */
export function levelView(context: Context, holds: readonly LogLevelHold[]): object {
  const control = context.use(logControlRef)
  return {
    level: control.level(),
    components: control.components(),
    holds: holds.map(({ component, level, untilMs }) => ({
      component: component ?? null,
      level,
      until: timestampFromMs(untilMs),
    })),
  }
}
