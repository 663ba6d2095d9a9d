import './support/hooks.ts'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { LANGUAGES, type Language } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { isKeptOff } from '../src/app/kept-off.ts'
import { happened, UNTOLD } from '../src/pages/home/untold.ts'
import { fill } from '../src/text/fill.ts'
import { fragmentsOf, loadSaid, translated } from '../src/text/said.ts'

/** What the console says, in each of its languages. */
const texts = suite('console/texts')
const PACKAGES = new URL('../../', import.meta.url)
const OTHERS = LANGUAGES.filter((language) => language !== 'en')
/** What is said of a number without the name of a thing: it is the same for one and for many. */
const NAMELESS = [
  ...['audit.verify.running', 'mesh.link.toApprove', 'people.recovery.few', 'ui.selected', 'esim.failures'],
  ...['imported', 'updated', 'exists', 'error', 'not_imported', 'would'].map((one) => `import.count.${one}`),
  // Never one.
  ...['account.password.help', 'signin.accept.help', 'backup.passphrase.help', 'sims.bulk.goOn'],
]

/** Words that many English sentences have, and no sentence of another language of the console. */
const ENGLISH =
  /(?<!\p{L})(?:the|and|are|with|been|this|that|which|cannot|there|every|nobody|not|they|because|when|until|before|after|phone|phones|settings|subscriber)(?!\p{L})/iu
/** A name, a unit or a term of the standards is the same everywhere; a phrase is not. */
const IS_PHRASE = /\p{L}{4,}\W+\p{L}{4,}/u

function isUntranslated(text: string, english: string): boolean {
  const said = text.replaceAll(/`[^`]*`|\{[^}]*\}/g, ' ')
  return (
    SAME.every((same) => text !== same) && ((text === english && IS_PHRASE.test(said)) || ENGLISH.test(said))
  )
}

/** Phrases that are names. */
const SAME: readonly string[] = ['wg://host:port', 'Download, Mbit/s', 'Upload, Mbit/s']

/** Characters that a text may have where the English one fits. Pages are looked at in each language besides, for what is cut off. */
function roomFor(english: string): number {
  return Math.max(Math.ceil(english.length * 1.75), english.length + 21)
}

/** All texts of a language by their keys, as they stand in files; some twice where two files say the same. */
function entriesOf(language: Language): readonly (readonly [string, string])[] {
  return readdirSync(PACKAGES).flatMap((name) => Object.entries(readTexts(name, language)))
}

function readTexts(name: string, language: Language): Readonly<Record<string, string>> {
  const file = new URL(`${name}/texts/${language}.json`, PACKAGES)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

function textsOf(language: Language): ReadonlyMap<string, string> {
  return new Map(entriesOf(language))
}

texts('says everything once, in each language', () => {
  const en = entriesOf('en').map(([key]) => key)
  assert.ok(en.length > 1_500, String(en.length))
  assert.equal(
    en.filter((key, index) => en.indexOf(key) !== index),
    [],
  )
  for (const language of OTHERS) {
    const keys = entriesOf(language).map(([key]) => key)
    assert.equal(
      en.filter((key) => !keys.includes(key)),
      [],
      `missing in ${language}`,
    )
    assert.is(keys.length, en.length, language)
  }
})

texts('leaves no text too long for its place', () => {
  const en = textsOf('en')
  const long = OTHERS.flatMap((language) =>
    [...textsOf(language)]
      .filter(([key, text]) => text.length > roomFor(en.get(key) ?? ''))
      .map(
        ([key, text]) =>
          `${language} ${key}: ${text.length} characters, room for ${roomFor(en.get(key) ?? '')}`,
      ),
  )
  assert.equal(long, [])
})

texts('leaves nothing in English in another language', () => {
  const en = textsOf('en')
  const left = OTHERS.flatMap((language) =>
    [...textsOf(language)]
      .filter(([key, text]) => isUntranslated(text, en.get(key) ?? ''))
      .map(([key, text]) => `${language} ${key}: ${text}`),
  )
  assert.equal(left, [])
})

texts('says what is counted in the form that its number needs, in each language', async () => {
  for (const language of LANGUAGES) {
    const uniform = [...textsOf(language)].filter(
      ([key, text]) =>
        /\{(count|all|total|sent)\}/.test(text) && !/\{\w+\|/.test(text) && !NAMELESS.includes(key),
    )
    // What a quota comes to is a text already.
    assert.equal(
      uniform.map(([key]) => key).filter((key) => key !== 'quota.enough'),
      [],
      language,
    )
  }
  const phones = '{count} {count|Telefon ist|Telefone sind} angemeldet.'
  assert.equal(
    [0, 1, 2, 1_234].map((count) => fill(phones, { count }, 'de')),
    [
      '0 Telefone sind angemeldet.',
      '1 Telefon ist angemeldet.',
      '2 Telefone sind angemeldet.',
      '1.234 Telefone sind angemeldet.',
    ],
  )
})

texts('names in each language what it names in English', async () => {
  const en = textsOf('en')
  const namesIn = (text = ''): readonly string[] =>
    [...new Set([...text.matchAll(/\{(\w+)/g)].map(([, name = '']) => name))].sort()
  for (const language of OTHERS) {
    const other = textsOf(language)
    assert.equal(
      [...en].filter(([key, text]) => String(namesIn(text)) !== String(namesIn(other.get(key)))),
      [],
      language,
    )
  }
})

texts('says what each code of an error means, in each language', async () => {
  const [api, types] = ['api', 'types'].map((name) =>
    readFileSync(new URL(`../../client/src/${name}.ts`, import.meta.url), 'utf8'),
  )
  const common = /type CommonCode =([\s\S]*?)\n\n/.exec(api ?? '')?.[1] ?? ''
  const own = /type ClientCode =([\s\S]*?)\n\n/.exec(types ?? '')?.[1] ?? ''
  const ofRoutes = [...(api ?? '').matchAll(/^ {4}readonly code: (.*)$/gm)].map(([, codes]) => codes)
  const codes = new Set([...`${common}${own}${ofRoutes}`.matchAll(/'(\w+)'/g)].map(([, code]) => code))
  assert.ok(codes.size > 60, String(codes.size))
  for (const language of LANGUAGES) {
    const all = textsOf(language)
    assert.equal(
      [...codes].filter((code) => !all.has(`problem.${code}`)),
      [],
      language,
    )
  }
})

texts('has each text that a page of a plugin names, and each that a field or a dialog is drawn with', () => {
  const own = new Set(Object.keys(readTexts('console', 'en')))
  const missing = readdirSync(PACKAGES).flatMap((name) => {
    const folder = new URL(name === 'console' ? 'console/src/' : `${name}/pages/`, PACKAGES)
    const keys = new Set(Object.keys(readTexts(name, 'en')))
    const sources = globSync('**/*.{ts,tsx}', { cwd: folder }).map((file) =>
      readFileSync(new URL(file, folder), 'utf8'),
    )
    const isThere = (key: string): boolean => own.has(key) || keys.has(key)
    const source = sources.join('\n')
    const named = [...source.matchAll(/(?:\bt\(\s*'|\btext="|\btext: ')([\w.-]+)['"]/g)].map(
      ([, key = '']) => key,
    )
    // A dialog may be without a verb: then its title and its sentence are asked for behind the key.
    const dialogs = new Set(
      [...source.matchAll(/<(?:FormDialog|DialogButton)\b[^>]*?\btext="([\w.-]+)"/g)].map(
        ([, key = '']) => key,
      ),
    )
    const said = new Set([...source.matchAll(/\bt\(\s*'([\w.-]+)'/g)].map(([, key = '']) => key))
    return named.filter(
      (key) =>
        !isThere(key) &&
        (said.has(key) || !dialogs.has(key) || !(isThere(`${key}.title`) || isThere(`${key}.what`))),
    )
  })
  assert.equal(missing, [])
})

texts('says in plain words whatever may happen, in each language', async () => {
  const reference = readFileSync(new URL('../../../docs/reference/events.md', import.meta.url), 'utf8')
  const types = new Set([...reference.matchAll(/^\| `([a-z_.]+)`/gm)].map(([, type = '']) => type))
  assert.ok(types.size > 100, String(types.size))
  for (const language of LANGUAGES) {
    const all = textsOf(language)
    assert.equal(
      [...types].filter((type) => !UNTOLD.includes(type) && !all.has(`event.${type}`)),
      [],
      language,
    )
  }
})

texts(
  'says of each kind of outage what it is, what it means for phones and what to do, in each language',
  () => {
    const source = readFileSync(new URL('../../contracts/src/incidents.ts', import.meta.url), 'utf8')
    const listed = /INCIDENT_KINDS = \[([^\]]*)\]/.exec(source)?.[1] ?? ''
    const kinds = [...listed.matchAll(/'(\w+)'/g)].map(([, kind = '']) => kind)
    assert.ok(kinds.length > 10, String(kinds))
    const titles = /INCIDENT_TITLES[^{]*\{([^}]*)\}/.exec(source)?.[1] ?? ''
    const english = textsOf('en')
    for (const [, kind = '', title] of titles.matchAll(/(\w+): '([^']*)'/g))
      if (kind !== 'part') assert.is(english.get(`incident.title.${kind}`), title)
    for (const language of LANGUAGES) {
      const all = textsOf(language)
      const wanted = kinds.flatMap((kind) =>
        ['title', 'impact', 'do'].map((what) => `incident.${what}.${kind}`),
      )
      assert.equal(
        // A part has the name of its component.
        wanted.filter((key) => !all.has(key) && key !== 'incident.title.part'),
        [],
        language,
      )
    }
  },
)

texts('names the pages of every feature in every language', () => {
  const missing = globSync('../../*/package.json', { cwd: import.meta.dirname }).flatMap((file) => {
    const { name, steeple } = JSON.parse(readFileSync(join(import.meta.dirname, file), 'utf8'))
    const pages: readonly { readonly path: string; readonly title: object }[] = steeple?.pages ?? []
    return pages.flatMap(({ path, title }) =>
      LANGUAGES.filter((language) => !(language in title)).map((language) => `${name} ${path} ${language}`),
    )
  })
  assert.equal(missing, [])
})

texts('does not say that nothing needs somebody while a gate is closed', () => {
  const gates = { country_code: 'set', license_ack: 'set', allow_list: 'set' }
  assert.not(isKeptOff(undefined))
  assert.not(isKeptOff({ transmitter: 'off', gates }))
  assert.ok(isKeptOff({ transmitter: 'off', gates: { ...gates, allow_list: 'missing' } }))
  assert.not(isKeptOff({ transmitter: 'on', gates: { ...gates, allow_list: 'missing' } }))
})

texts('tells of a disarm by the route that arms as of a disarm', () => {
  const told = (action: string, detail: object): string => happened({ action, detail: { ...detail } })
  assert.equal([told('tx.arm', { arm: false }), told('tx.arm', { arm: true })], ['tx.disarm', 'tx.arm'])
  assert.equal([told('tx.arm', {}), told('sim.issue', { arm: false })], ['tx.arm', 'sim.issue'])
})

/** So many literals of the source make one sentence between two places that are filled in. */
const MOST_PIECES = 3

/** What the service says by itself, by the English sentence. */
function saidIn(language: Language): Readonly<Record<string, string>> {
  return JSON.parse(readFileSync(new URL(`console/texts/said/${language}.json`, PACKAGES), 'utf8'))
}

texts('has what the service says in each language, with all that it names', () => {
  const namesIn = (text: string): string =>
    [...text.matchAll(/\{(\w+)/g)]
      .map(([, name]) => name)
      .toSorted()
      .join()
  const english = Object.keys(saidIn('de'))
  assert.ok(english.length > 120, String(english.length))
  for (const language of OTHERS) {
    const sentences = saidIn(language)
    assert.equal(Object.keys(sentences), english, language)
    for (const [key, text] of Object.entries(sentences))
      for (const name of new Set(namesIn(text).split(',')))
        assert.ok(namesIn(key).split(',').includes(name), `${language}: ${text}`)
    const left = Object.entries(sentences).filter(([key, text]) => isUntranslated(text, key))
    assert.equal(left, [], language)
  }
})

texts('has of what the service says nothing that it says in other words', () => {
  const files = globSync('*/{src/**/*.ts,package.json}', { cwd: PACKAGES })
  const source = files.map((file) => readFileSync(new URL(file, PACKAGES), 'utf8')).join('\n')
  // A sentence may be put together: `the licence ${isOver ? 'ended' : 'ends'} at`.
  const piecesOf = (part: string): number => {
    const words = part.split(/(?<= )/)
    let taken = words.length
    while (taken > 0 && !source.includes(words.slice(0, taken).join('').trim())) taken -= 1
    if (taken === 0) return Number.POSITIVE_INFINITY
    return taken === words.length ? 1 : 1 + piecesOf(words.slice(taken).join(''))
  }
  const unsaid = Object.keys(saidIn('de')).filter((english) =>
    fragmentsOf(english).some((part) => part.trim() !== '' && piecesOf(part) > MOST_PIECES),
  )
  assert.equal(unsaid, [])
})

texts('says in the language of the reader what the service says in English, and keeps the rest', async () => {
  await loadSaid('de')
  const de = (text: string): string => translated(text, 'de', 'de').text
  assert.equal(
    [
      'No radio, 16 phones are off: no base station is connected; one was until 2026-11-29T12:00:00.000Z',
      'no heartbeat for 62 s',
      'no default route; there was one until 2026-11-29T12:00:00Z',
      'Anna Müller has used 123 % of its quota',
      'mme is strange; not counted for 8 s: down: upf, mme',
      'nothing of this',
    ].map(de),
    [
      'Kein Funk, 16 Telefone sind ohne Netz: keine Basisstation ist verbunden; bis 2026-11-29T12:00:00.000Z war es eine',
      'kein Lebenszeichen seit 62 s',
      'keine Route ins Internet; bis 2026-11-29T12:00:00Z gab es eine',
      'Anna Müller hat 123 % des Kontingents verbraucht',
      'mme is strange; seit 8 s nicht gezählt: ausgefallen: upf, mme',
      'nothing of this',
    ],
  )
  // What is left in English is said to be: it is read aloud otherwise.
  const whole = ['down: upf, mme', 'no heartbeat for 62 s', 'mme is strange; no heartbeat for 62 s']
  assert.equal(
    whole.map((text) => translated(text, 'de', 'de').isWhole),
    [true, true, false],
  )
  await loadSaid('en')
  assert.is(de('no heartbeat for 62 s'), 'no heartbeat for 62 s')
})

texts.run()
