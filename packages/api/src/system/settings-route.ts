import {
  type JsonSchema,
  objectSchema,
  ok,
  type Route,
  route,
  settingsFixed,
  validationFailed,
} from '@steeple/contracts'
import type { EdgeCore } from '../edge-core.ts'
import type { SettingsFile } from '../edge-options.ts'

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
    settable: { type: 'boolean', description: '`PUT /v1/settings` may change it.' },
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
    'settable',
    'awaits_start',
    'variable',
    'flag',
    'plugin',
  ],
)

const CHANGE_BODY: JsonSchema = objectSchema(
  {
    settings: {
      type: 'object',
      minProperties: 1,
      maxProperties: 50,
      propertyNames: { type: 'string', pattern: '^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)*$', maxLength: 128 },
      additionalProperties: { description: 'Any JSON that the key takes.' },
      description: 'By key, dotted.',
      examples: [{ 'server.country': 'DE', 'plmn.mcc': '262', 'plmn.mnc': '98' }],
    },
  },
  ['settings'],
)
const CHANGED: JsonSchema = objectSchema(
  {
    applied: { type: 'boolean', description: 'The file has it, and it is in force; false of a dry run.' },
    file: { ...TEXT, description: 'The file that the service reads.' },
    writable: { type: 'boolean', description: 'The service may write the file.' },
    lines: {
      ...TEXT,
      description: 'What the file needs, for somebody who writes it: YAML of these keys alone.',
    },
    fixed: {
      type: 'array',
      items: objectSchema({ key: TEXT, by: { ...TEXT, description: 'A variable or a flag.' } }, [
        'key',
        'by',
      ]),
      description: 'Keys that something else decides, whatever the file says.',
    },
  },
  ['applied', 'file', 'writable', 'lines', 'fixed'],
)

/** What of the configuration is read and changed over HTTP. */
export function settingsRoutes(core: EdgeCore): readonly Route[] {
  const { settingsFile } = core
  return [settingsRoute(core), ...(settingsFile === undefined ? [] : [changeRoute(settingsFile)])]
}

/** `PUT /v1/settings`: the file stays the one place that says what is configured; it is written and read again. */
function changeRoute(file: SettingsFile): Route {
  return route<
    unknown,
    { readonly dry_run?: boolean },
    { readonly settings: Readonly<Record<string, unknown>> }
  >({
    method: 'PUT',
    path: '/v1/settings',
    role: 'admin',
    audit: 'settings.change',
    summary: 'Writes keys into the configuration file and puts them in force',
    description:
      'Only keys that are `settable`: the country, the number of the network, its tracking area and its APNs. The file is judged as a whole ' +
      'before anything is written, and what stands in it otherwise stays. A dry run changes nothing and says what would be written.',
    schema: {
      query: objectSchema({ dry_run: { type: 'boolean' } }),
      body: CHANGE_BODY,
      response: CHANGED,
    },
    errors: [validationFailed.code, settingsFixed.code],
    handle: async (request) => {
      const { settings } = request.body
      if (request.query.dry_run === true) return ok({ applied: false, ...told(file.plan(settings)) })
      const reply = await request.mutate('settings', async (tx) => {
        tx.audit({ detail: { ...settings } })
        const planned = file.plan(settings)
        file.write(planned)
        return ok({ applied: true, ...told(planned) })
      })
      await file.reload()
      return reply
    },
  })
}

function told({ file, isWritable, lines, fixed }: ReturnType<SettingsFile['plan']>): object {
  return { file, writable: isWritable, lines, fixed }
}

/** `GET /v1/settings`: the configuration in force, key by key. */
function settingsRoute({ kernel }: EdgeCore): Route {
  return route({
    method: 'GET',
    path: '/v1/settings',
    role: 'admin',
    summary: 'The configuration in force, key by key, and how each is set',
    description:
      'It is changed in the file or by variables, and read again at a SIGHUP; PUT writes some keys into the file. No value opens anything.',
    schema: { response: objectSchema({ settings: { type: 'array', items: SETTING } }, ['settings']) },
    handle: async () => {
      const settings = kernel
        .settingsInForce()
        .map(({ isSettable, awaitsStart, variable, flag, plugin, ...rest }) => ({
          ...rest,
          settable: isSettable,
          awaits_start: awaitsStart,
          variable: variable ?? null,
          flag: flag ?? null,
          plugin: plugin ?? null,
        }))
      return ok({ settings })
    },
  })
}
