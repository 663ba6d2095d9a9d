import {
  BATCH_ID_PATTERN,
  chunksOf,
  fieldRefused,
  handoutCodesRef,
  LANGUAGES,
  type Language,
  notFound,
  objectSchema,
  type PrintedCode,
  type Route,
  route,
} from '@steeple/contracts'
import { escapedHtml, printedPage } from '@steeple/telecom'
import type { SimsParts } from '../parts.ts'
import { openCard, wipeCard } from '../secrets/card.ts'
import { apnsOf, type SimRow, simsOf, simsOfBatch } from '../store/sim-store.ts'

interface HandoutQuery {
  readonly batch_id?: string
  /** Hashes with commas between them. */
  readonly sims?: string
  readonly language?: Language
  readonly codes?: boolean
}

/** Cards of a page: two columns of four. */
const PER_PAGE = 8
/** SIMs of one handout. */
const MOST = 10_000
/** Of those that are named one by one, since they stand in the address. */
const MOST_NAMED = 500

const STYLE = `
@page { size: A4 portrait; margin: 0 }
* { box-sizing: border-box; margin: 0 }
html { background: #fff; color: #000; font: 10pt/1.4 system-ui, sans-serif }
.page { width: 210mm; height: 297mm; padding: 16mm 15mm; display: grid; overflow: hidden;
  grid-template-columns: 90mm 90mm; grid-template-rows: repeat(4, 66mm); break-after: page }
.page:last-child { break-after: auto }
.card { padding: 5mm; overflow: hidden; border: .2mm dashed #888 }
h2 { font-size: 13pt; line-height: 1.2; overflow-wrap: anywhere; max-height: 2.4em; overflow: hidden }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .5mm 3mm; margin: 2mm 0 }
dt { color: #444 }
dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere }
p { font-size: 8.5pt }
svg { float: right; width: 36mm; height: 36mm; margin: -3mm -3mm 0 2mm; shape-rendering: crispEdges }
@media screen { html { background: #ddd } .page { background: #fff; margin: 6mm auto } }
`

const PAGE = printedPage(STYLE)

interface Words {
  readonly title: string
  readonly number: string
  readonly card: string
  readonly how: string
}

const WORDS: Readonly<Record<Language, Words>> = {
  de: {
    title: 'SIMs',
    number: 'Rufnummer',
    card: 'Karte',
    how: 'Legen Sie die Karte ein. Kommt das Telefon nicht online, tragen Sie den APN in den Einstellungen des Mobilfunks ein.',
  },
  en: {
    title: 'SIMs',
    number: 'Number',
    card: 'Card',
    how: 'Put the card into the phone. If the phone does not get online, enter the APN in the mobile network settings.',
  },
  es: {
    title: 'SIM',
    number: 'Número',
    card: 'Tarjeta',
    how: 'Ponga la tarjeta en el teléfono. Si el teléfono no se conecta, escriba el APN en los ajustes de la red móvil.',
  },
  fr: {
    title: 'SIM',
    number: 'Numéro',
    card: 'Carte',
    how: 'Mettez la carte dans le téléphone. S’il ne se connecte pas, saisissez l’APN dans les paramètres du réseau mobile.',
  },
  pt: {
    title: 'SIMs',
    number: 'Número',
    card: 'Cartão',
    how: 'Ponha o cartão no telefone. Se o telefone não se ligar, escreva o APN nas definições da rede móvel.',
  },
}

/** `GET /v1/sims/handout` */
export function handoutRoute(parts: SimsParts): Route {
  const { context } = parts
  return route<unknown, HandoutQuery, unknown>({
    method: 'GET',
    path: '/v1/sims/handout',
    role: 'sim:issuer',
    summary: 'Get the handout of a batch, or of SIMs, to print',
    description:
      'A page of HTML that loads nothing: label, number, card and APN of each SIM that is not revoked, eight on an A4 page. An eSIM ' +
      'that can still be downloaded has its QR code. With codes: also PIN and PUK, which the audit trail says. In English unless ' +
      'you name another language.',
    schema: {
      query: objectSchema({
        batch_id: { type: 'string', pattern: BATCH_ID_PATTERN },
        sims: {
          type: 'string',
          pattern: `^[0-9a-f]{12}(,[0-9a-f]{12}){0,${MOST_NAMED - 1}}$`,
          description: `In place of a batch: SIMs by their hashes, with commas between them, at most ${MOST_NAMED}.`,
        },
        language: { enum: LANGUAGES },
        codes: { type: 'boolean', description: 'Print PIN and PUK, too.' },
      }),
    },
    produces: ['text/html'],
    errors: ['validation_failed', 'not_found', 'store_corrupt', 'store_unavailable'],
    handle: async (request) => {
      const { language = 'en', codes = false } = request.query
      const { name, sims } = await simsToPrint(parts, request.query)
      if (codes)
        await context.mutate(request.principal, 'sim.handout', name, async (tx) =>
          tx.audit({ detail: { sims: sims.length, ...namedIn(request.query, sims) } }),
        )
      return {
        headers: {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': PAGE.policy,
          'content-disposition': `attachment; filename="handout-${fileNameOf(sims, name)}.html"`,
          'cache-control': 'no-store',
        },
        stream: handout(parts, sims, { name, language, codes }),
      }
    },
  })
}

/** SIMs of a handout, and what it is called by: the batch, or the first of them. */
interface Printed {
  readonly name: string
  readonly sims: readonly SimRow[]
}

async function simsToPrint({ context: { db } }: SimsParts, asked: HandoutQuery): Promise<Printed> {
  const { batch_id: batch, sims: named = '' } = asked
  if ((batch === undefined) === (named === ''))
    throw fieldRefused('/batch_id', 'or sims is needed, and not both: say which SIMs are printed')
  const rows =
    batch === undefined ? await simsOf(db, named.split(',')) : await simsOfBatch(db, batch, MOST + 1)
  if (rows.length > MOST)
    throw fieldRefused('/batch_id', `has more than ${MOST} SIMs; print them by smaller batches`)
  const live = rows.filter(({ state }) => state !== 'revoked')
  const [first] = live
  if (first === undefined)
    throw notFound(
      batch === undefined ? 'SIM that is not revoked' : `SIM of batch ${batch} that is not revoked`,
    )
  // As people read them: village 2 before village 10.
  const sims = live.toSorted((a, b) =>
    (a.label ?? a.hash).localeCompare(b.label ?? b.hash, 'en', { numeric: true }),
  )
  return { name: batch ?? first.hash, sims }
}

/** For the audit trail: those of a batch are known by it. */
function namedIn({ batch_id: batch }: HandoutQuery, sims: readonly SimRow[]): object {
  return batch === undefined ? { hashes: sims.map(({ hash }) => hash) } : {}
}

async function* handout(
  parts: SimsParts,
  sims: readonly SimRow[],
  { name, language, codes }: { readonly name: string; readonly language: Language; readonly codes: boolean },
): AsyncGenerator<string> {
  const words = WORDS[language]
  yield PAGE.head(`${words.title} ${name}`, language)
  for (const page of chunksOf(sims, PER_PAGE)) {
    const hashes = page.map(({ hash }) => hash)
    const printed = await parts.context.maybe(handoutCodesRef)?.printed(hashes, language)
    const cards = page.map((sim) =>
      card(sim, words, codes ? codesOf(parts, sim) : [], printed?.get(sim.hash)),
    )
    yield `<section class="page">\n${cards.join('')}</section>\n`
  }
  yield PAGE.foot
}

/** What the SIMs are called, as a name of a file: `village` of village 01 to village 10; `name` where they have no such one. */
function fileNameOf(sims: readonly SimRow[], name: string): string {
  const [first, ...others] = sims.map(({ label }) => (label ?? '').replace(/[ _-]*\d+$/, ''))
  const plain = (first ?? '')
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
  return plain === '' || others.some((other) => other !== first) ? name : plain
}

type Fact = readonly [term: string, value: string]

function card(
  sim: SimRow,
  { number, card: end, how }: Words,
  codes: readonly Fact[],
  code: PrintedCode | undefined,
): string {
  const facts: readonly Fact[] = [
    [number, sim.msisdn ?? ''],
    [code?.kind ?? end, sim.iccid_last4 === null ? '' : `…${sim.iccid_last4}`],
    // The one that a phone names: TS 23.401 §4.3.8.1 gives who names none the default, which is the first.
    ['APN', apnsOf(sim)[0] ?? ''],
    ...codes,
  ]
  const list = facts
    .filter(([, value]) => value !== '')
    .map(([term, value]) => `<dt>${term}</dt><dd>${escapedHtml(value)}</dd>`)
  return `<article class="card">
${code?.svg ?? ''}<h2>${escapedHtml(sim.label ?? sim.hash)}</h2>
<dl>${list.join('')}</dl>
<p>${code === undefined ? how : escapedHtml(code.how)}</p>
</article>
`
}

function codesOf({ vault }: SimsParts, sim: SimRow): readonly Fact[] {
  const opened = openCard(vault, sim)
  const text = (octets: Uint8Array): string => Buffer.from(octets).toString('ascii')
  try {
    return [
      ['PIN', text(opened.pin1)],
      ['PUK', text(opened.puk1)],
    ]
  } finally {
    wipeCard(opened)
  }
}
