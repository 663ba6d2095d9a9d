import { type JsonSchema, objectSchema, ok, type Route, route } from '@steeple/contracts'
import type { EdgeCore } from '../edge-core.ts'

const TEXT: JsonSchema = { type: 'string' }
const NULLABLE_TEXT: JsonSchema = { type: ['string', 'null'] }
const SETTING: JsonSchema = objectSchema(
  {
    key: { ...TEXT, description: 'Dotted, as docs/reference/configuration.md lists it.' },
    about: TEXT,
    takes: { ...TEXT, description: 'What is allowed, in words.' },
    default: { description: 'Any JSON.' },
    value: {
      description:
        'What is in force, any JSON; *** where it is or may hold a secret, and in a URL behind its host.',
    },
    from: { ...TEXT, description: 'default, file:line:column, a variable or a flag.' },
    apply: {
      type: 'string',
      enum: ['hot', 'reload', 'restart'],
      description:
        'When a change counts: at a SIGHUP, with a reload of its plugin then, or at the next start.',
    },
    awaits_start: { type: 'boolean', description: 'Another value counts from the next start on.' },
    variable: NULLABLE_TEXT,
    flag: NULLABLE_TEXT,
    plugin: { ...NULLABLE_TEXT, description: "Whose key it is; null: the service's own." },
  },
  [
    'key',
    'about',
    'takes',
    'default',
    'value',
    'from',
    'apply',
    'awaits_start',
    'variable',
    'flag',
    'plugin',
  ],
)

/** `GET /v1/settings`: the configuration in force, key by key. */
export function settingsRoute({ kernel }: EdgeCore): Route {
  return route({
    method: 'GET',
    path: '/v1/settings',
    role: 'admin',
    summary: 'The configuration in force, key by key, and how each is set',
    description:
      'It is changed in the file or by variables, and read again at a SIGHUP. No value opens anything.',
    schema: { response: objectSchema({ settings: { type: 'array', items: SETTING } }, ['settings']) },
    handle: async () => {
      const settings = kernel.settingsInForce().map(({ awaitsStart, variable, flag, plugin, ...rest }) => ({
        ...rest,
        awaits_start: awaitsStart,
        variable: variable ?? null,
        flag: flag ?? null,
        plugin: plugin ?? null,
      }))
      return ok({ settings })
    },
  })
}
