import {
  CORE_OUTLOOK_SCHEMA,
  changeTag,
  coreChangesRef,
  coreOutlookRecord,
  foundSettingsRef,
  type JsonSchema,
  objectSchema,
  ok,
  type Reply,
  type Route,
  refuseStale,
  route,
  settingsFixed,
  staleChange,
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
    plugin: { ...NULLABLE_TEXT, description: 'Plugin of the key; null: the service itself.' },
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
      maxProperties: 50,
      propertyNames: { type: 'string', pattern: '^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)*$', maxLength: 128 },
      additionalProperties: { description: 'Any JSON that the key takes.' },
      description: 'By key, dotted. None: the file as it is.',
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
      description: 'YAML of these keys only, for a person who writes it into the file.',
    },
    fixed: {
      type: 'array',
      items: objectSchema({ key: TEXT, by: { ...TEXT, description: 'A variable or a flag.' } }, [
        'key',
        'by',
      ]),
      description: 'Keys that a variable or a flag sets, so that the file has no effect on them.',
    },
    core: CORE_OUTLOOK_SCHEMA,
  },
  ['applied', 'file', 'writable', 'lines', 'fixed', 'core'],
)

/** What of the configuration is read and changed over HTTP. */
export function settingsRoutes(core: EdgeCore): readonly Route[] {
  const { settingsFile, kernel } = core
  const change: UnderWay = { isInForce: Promise.resolve() }
  return [
    settingsRoute(core, change),
    ...(settingsFile === undefined ? [] : [changeRoute(settingsFile, change, kernel)]),
  ]
}

/** What is written is in force a moment later: until then nobody is given the values of before with the tag of the file after. */
interface UnderWay {
  isInForce: Promise<void>
}

/** `PUT /v1/settings`: the file stays the one place that says what is configured; it is written and read again. */
function changeRoute(file: SettingsFile, change: UnderWay, kernel: EdgeCore['kernel']): Route {
  return route<
    unknown,
    { readonly dry_run?: boolean; readonly found?: boolean },
    { readonly settings: Readonly<Record<string, unknown>> }
  >({
    method: 'PUT',
    path: '/v1/settings',
    role: 'admin',
    audit: 'settings.change',
    summary: 'Write keys into the configuration file and apply them',
    description:
      'Only keys that are `settable`, such as the country, the number of the network and the program of the radio; of the ' +
      'driver of the core only that there is none. With `found`, other keys too, but only to what the box itself reads from ' +
      'this machine now. The whole ' +
      'file is checked before anything is written; everything else in it stays. A dry run changes nothing and shows ' +
      'what would be written, and what that does to the core. With If-Match, a request is refused when the file has changed, no matter by whom.',
    schema: {
      query: objectSchema({ dry_run: { type: 'boolean' }, found: { type: 'boolean' } }),
      body: CHANGE_BODY,
      response: CHANGED,
    },
    errors: [validationFailed.code, settingsFixed.code, staleChange.code],
    guarded: true,
    handle: async (request) => {
      const { settings } = request.body
      const guard = (): void =>
        refuseStale(request.header('if-match'), file.digest(), 'the configuration file')
      const found =
        request.query.found === true
          ? await kernel.service(foundSettingsRef)?.found(request.signal)
          : undefined
      const outlook = async (planned: Planned): Promise<object | null> =>
        coreOutlookRecord(
          await kernel
            .service(coreChangesRef)
            ?.outlook({ settings: planned.loaded.settings }, request.signal),
        )
      if (request.query.dry_run === true) {
        guard()
        const planned = file.plan(settings, found)
        return tagged(file, { applied: false, ...told(planned), core: await outlook(planned) })
      }
      const core = await outlook(file.plan(settings, found))
      const { promise, resolve } = Promise.withResolvers<void>()
      const work = request.mutate('settings', async (tx) => {
        tx.audit({ detail: { ...settings } })
        // Nothing is waited for from here to the write: of two at once the second sees what the first has written.
        guard()
        const planned = file.plan(settings, found)
        file.write(planned)
        change.isInForce = promise
        return tagged(file, { applied: true, ...told(planned), core })
      })
      try {
        const reply = await work
        await file.reload()
        return reply
      } finally {
        resolve()
      }
    },
  })
}

/** An answer with the tag that `PUT /v1/settings` is guarded by. */
function tagged(file: SettingsFile | undefined, body: object): Reply {
  return { ...ok(body), headers: { etag: changeTag(file?.digest() ?? null, body) } }
}

type Planned = ReturnType<SettingsFile['plan']>

function told({ file, isWritable, lines, fixed }: Planned): object {
  return { file, writable: isWritable, lines, fixed }
}

/** `GET /v1/settings`: the configuration in force, key by key. */
function settingsRoute({ kernel, settingsFile }: EdgeCore, change: UnderWay): Route {
  return route({
    method: 'GET',
    path: '/v1/settings',
    role: 'admin',
    summary: 'Show the configuration in force, key by key, and how each is set',
    description:
      'It is changed in the file or by variables, and read again at a SIGHUP; PUT writes some keys into the file. No value opens anything.',
    schema: {
      response: objectSchema(
        {
          file: {
            type: ['string', 'null'],
            description: 'The file that the service reads; null: it reads none.',
          },
          settings: { type: 'array', items: SETTING },
        },
        ['file', 'settings'],
      ),
    },
    conditional: true,
    handle: async () => {
      await change.isInForce
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
      return tagged(settingsFile, { file: settingsFile?.path ?? null, settings })
    },
  })
}
