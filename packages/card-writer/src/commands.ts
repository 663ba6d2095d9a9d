import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type CommandFailure,
  type CommandHost,
  type Commands,
  countText,
  isServiceError,
} from '@steeple/contracts'
import { readCard, type Writer, writeCard } from './pysim.ts'
import { ADM, admIn } from './vendor-file.ts'

/** How often an empty reader is looked at again. */
const LOOK_MS = 1_000
const MOST = 10_000

/** A reader with a card in it. */
interface Desk {
  read(): Promise<{ readonly iccid: string; readonly model: string; readonly hash: string | undefined }>
  write(
    hash: string,
    card: { readonly iccid: string; readonly hash: string | undefined },
    adm: string,
  ): Promise<void>
}

/** `svc sim write` */
export const commands: Commands = {
  'sim write': async (host) => {
    const { script, here, admCsv } = host.typed
    const sims = await simsOf(host)
    if (typeof script === 'string') return await saveScripts(host, script, sims)
    const csv = typeof admCsv === 'string' ? await vendorFile(host, admCsv) : undefined
    const desk = here === true ? deskHere(host) : deskOfBox(host)
    const keys = keysOf(host, csv)
    const done: object[] = []
    let last = ''
    for (const [at, { hash, name }] of sims.entries()) {
      host.err(`${at + 1} of ${sims.length}: put in the card for ${host.printable(name)}\n`)
      const card = await nextCard(host, desk, last)
      const adm = await keys(card.iccid)
      host.err(`${card.model} …${card.iccid.slice(-4)}: writing; leave the card in the reader\n`)
      await desk.write(hash, card, adm)
      last = card.iccid
      done.push({ imsi_sha256_12: hash, iccid_last4: card.iccid.slice(-4) })
      host.err('written and compared\n')
    }
    host.out(
      host.isJson
        ? host.json({ written: done })
        : `${countText(done.length, 'card is', 'cards are')} written\n`,
    )
  },
}

interface NamedSim {
  readonly hash: string
  /** Its label, if it has one. */
  readonly name: string
}

/** The SIMs that are named, in their order, or those of a batch that are on no card yet, by label. */
async function simsOf(host: CommandHost): Promise<readonly NamedSim[]> {
  const { hashes, batch, again } = host.typed
  const named = ((hashes ?? []) as readonly string[]).map(host.simHash) // several, as its usage says
  if (named.length > 0 === (batch !== undefined))
    throw host.usage('name SIMs by their hashes, or a batch by --batch')
  if (batch === undefined)
    return await Promise.all(
      named.map(async (hash) => (await cardsOf(host, { imsi: hash }))[0] ?? { hash, name: hash }),
    )
  const sims = (await cardsOf(host, { batch_id: batch })).filter(
    ({ state, isWritten }) => state !== 'revoked' && (!isWritten || again === true),
  )
  if (sims.length === 0)
    throw host.failure(
      'not_found',
      'there is no SIM in this batch that is to be written; --again writes them again',
    )
  return sims.toSorted((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }))
}

async function cardsOf(
  host: CommandHost,
  query: Readonly<Record<string, unknown>>,
): Promise<readonly (NamedSim & { readonly state: string; readonly isWritten: boolean })[]> {
  const { rows } = await host.list('GET /v1/cards', 'cards', MOST, { query })
  return rows.map(({ imsi_sha256_12: hash, label, state, written_at: at }) => ({
    hash: String(hash),
    name: label === null ? String(hash) : `${label} (${hash})`,
    state: String(state),
    isWritten: at !== null,
  }))
}

async function saveScripts(host: CommandHost, folder: string, sims: readonly NamedSim[]): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const files: string[] = []
  for (const { hash: imsi } of sims) {
    const { file, script } = await host.call('POST /v1/cards/script', { body: { imsi } })
    const path = join(folder, String(file))
    await host.writeSecret(path, String(script))
    files.push(path)
  }
  if (host.isJson) host.out(host.json({ files }))
  else host.out(files.map((file) => `${file}\n`).join(''))
  host.err(
    'These files hold the keys of SIMs: delete them when the cards are written. Each says in its second line how it is run.\n',
  )
}

/** Waits until a card is in the reader that is not the one before. */
async function nextCard(
  host: CommandHost,
  desk: Desk,
  last: string,
): Promise<Awaited<ReturnType<Desk['read']>>> {
  for (;;) {
    try {
      const card = await desk.read()
      if (card.iccid !== last) return card
    } catch (error) {
      if ((error as CommandFailure).code !== 'card_missing') throw failureOf(host, error)
    }
    await delay(LOOK_MS)
  }
}

/** The ADM key of each card: from the vendor's file, from the person, or the next line of standard input. */
function keysOf(host: CommandHost, csv: string | undefined): (iccid: string) => Promise<string> {
  let typed: string[] | undefined
  return async (iccid) => {
    const end = `…${iccid.slice(-4)}`
    if (csv !== undefined) {
      const found = admIn(csv, iccid)
      if (found === undefined)
        throw host.failure('adm_missing', `the file of --adm-csv has no ADM1 of the card ${end}`)
      return found
    }
    if (host.ask === undefined) typed ??= (await host.input()).split(/\r?\n/)
    const question = `ADM key of the card ${end}: `
    const [answer] = (await host.ask?.([{ question, isHidden: true }])) ?? [typed?.shift()]
    const adm = answer?.trim() ?? ''
    if (!ADM.test(adm))
      throw host.usage(
        'an ADM key is 4 to 8 digits, or 16 hexadecimal ones; it stands in the card vendor’s file',
      )
    return adm
  }
}

/** The reader on the box, used by the service. */
function deskOfBox(host: CommandHost): Desk {
  return {
    read: async () => {
      const { iccid, model, imsi_sha256_12: hash } = await host.call('POST /v1/cards/read')
      return { iccid: String(iccid), model: String(model), hash: hash === null ? undefined : String(hash) }
    },
    write: async (imsi, { iccid }, adm) => {
      const { again } = host.typed
      await host.call('POST /v1/cards/write', { body: { imsi, iccid, adm, again } })
    },
  }
}

/** The reader at this machine. Its keys come over the API, and go nowhere but to pySim. */
function deskHere(host: CommandHost): Desk {
  const { program, reader, again } = host.typed
  const writer: Writer = { program: String(program), reader: Number(reader) }
  const isWritten = async (imsi: string): Promise<boolean> =>
    (await cardsOf(host, { imsi })).some(({ isWritten: is }) => is)
  return {
    read: () => readCard(writer),
    write: async (imsi, card, adm) => {
      if (again !== true && (await isWritten(imsi)))
        throw host.failure(
          'card_conflict',
          `the SIM ${imsi} is on a card already; --again writes it on another one`,
        )
      if (again !== true && card.hash !== undefined && card.hash !== imsi && (await isWritten(card.hash)))
        throw host.failure('card_conflict', `the card holds the SIM ${card.hash}; --again overwrites it`)
      const { script } = await host.call('POST /v1/cards/script', { body: { imsi } })
      await writeCard(writer, String(script), adm).catch((error: unknown) => {
        throw failureOf(host, error)
      })
      await host.call('POST /v1/cards/written', { body: { imsi, iccid: card.iccid, again } })
    },
  }
}

/** What went wrong at a reader here, as the command says it. */
function failureOf(host: CommandHost, error: unknown): unknown {
  return isServiceError(error) ? host.failure(error.code, error.message) : error
}

async function vendorFile(host: CommandHost, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw host.unreadable(file, error)
  }
}
