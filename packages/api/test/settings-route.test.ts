import { coreChangesRef } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import type { SettingsFile } from '../src/edge-options.ts'
import { ADMIN_TOKEN, type Answer, serveRoutes, type World } from './world/serve-routes.ts'

const change = suite('api/settings-route')

let world: World
let text: string
let reload: () => Promise<void>
/** A file in memory: its text is all that is compared. */
const file: SettingsFile = {
  path: '/data/control.yaml',
  plan: (changes) => ({
    file: 'control.yaml',
    before: text,
    text: JSON.stringify(changes),
    lines: JSON.stringify(changes),
    isWritable: true,
    fixed: [],
    // Of it only the settings are looked at here.
    loaded: { settings: changes } as never,
  }),
  digest: () => `digest of ${text}`,
  write: (planned) => {
    text = planned.text
  },
  reload: () => reload(),
}
change.before.each(async () => {
  text = ''
  reload = async () => undefined
  world = await serveRoutes([], { settingsFile: file })
})
change.after.each(() => world.close())

const put = (country: string, ifMatch?: string, query = ''): Promise<Answer> =>
  world.ask(`/v1/settings${query}`, {
    method: 'PUT',
    token: ADMIN_TOKEN,
    json: { settings: { 'server.country': country } },
    headers: ifMatch === undefined ? {} : { 'if-match': ifMatch },
  })
change('says which file the settings are in', async () => {
  const { body } = await world.ask('/v1/settings', { token: ADMIN_TOKEN })
  assert.is(body.file, '/data/control.yaml')
})

const read = async (): Promise<string> => {
  const { headers } = await world.ask('/v1/settings', { token: ADMIN_TOKEN })
  return headers.get('etag') ?? ''
}
const inFile = (country: string): string => JSON.stringify({ 'server.country': country })

change('writes what was read just before, and refuses what was read before another change', async () => {
  const seen = await read()
  const first = await put('DE', seen)
  assert.is(first.status, 200)
  assert.is(text, inFile('DE'))
  for (const query of ['', '?dry_run=true']) {
    const stale = await put('FR', seen, query)
    assert.is(stale.status, 412)
    assert.is(stale.body.error.code, 'stale_change')
  }
  assert.is(text, inFile('DE'))
  assert.is((await put('FR', first.headers.get('etag') ?? '')).status, 200)
  assert.is((await put('IT', await read())).status, 200)
  assert.is(text, inFile('IT'))
})

change('refuses what was read before somebody wrote the file by hand', async () => {
  const seen = await read()
  text = '# by hand'
  assert.is((await put('DE', seen)).status, 412)
  assert.is(text, '# by hand')
  assert.is.not(await read(), seen)
})

change('writes without the header whatever there is', async () => {
  text = '# by hand'
  assert.is((await put('DE')).status, 200)
  assert.is(text, inFile('DE'))
})

change('gives nobody the tag of what is written before that is in force', async () => {
  const [begun, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  reload = () => {
    begun.resolve()
    return done.promise
  }
  const changing = put('DE')
  await begun.promise
  let isRead = false
  const reading = read().then((tag) => {
    isRead = true
    return tag
  })
  assert.is((await world.ask('/v1/healthz')).status, 200)
  assert.not.ok(isRead)
  done.resolve()
  const { headers } = await changing
  const part = (tag: string | null) => tag?.slice(1, -1).split('.')[0]
  assert.is(part(await reading), part(headers.get('etag')))
})

change('says what a change does to the core before it is made, and as it is made', async () => {
  const asked: unknown[] = []
  const outlook = { restarts: ['smf'], dropped: 2, expectedS: undefined, notes: ['n'], problems: [] }
  world.kernel.services.set(coreChangesRef.id, {
    outlook: async ({ settings }: { readonly settings: unknown }) => {
      asked.push(settings)
      return outlook
    },
  })
  const core = { restarts: ['smf'], subscribers_dropped: 2, expected_s: null, notes: ['n'], problems: [] }
  const dry = await put('DE', undefined, '?dry_run=true')
  assert.equal([dry.body.core, text], [core, ''])
  assert.equal((await put('DE')).body.core, core)
  assert.equal(asked, [{ 'server.country': 'DE' }, { 'server.country': 'DE' }])
  world.kernel.services.delete(coreChangesRef.id)
  assert.is((await put('FR')).body.core, null)
})

change('lets one of two in that come at once', async () => {
  const seen = await read()
  const answers = await Promise.all([put('DE', seen), put('FR', seen)])
  assert.equal(answers.map(({ status }) => status).sort(), [200, 412])
  assert.is(text, inFile(answers[0]?.status === 200 ? 'DE' : 'FR'))
})

change.run()
