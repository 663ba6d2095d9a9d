import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { CommandFailure, CommandHost, Commands } from '@steeple/contracts'
import { certCommands } from './commands/certs.ts'

/** Codes as they are issued; a part of a batch says how many SIMs are left. */
interface Issued {
  readonly codes?: readonly Readonly<Record<string, unknown>>[]
  readonly remaining?: number
  readonly activation_code?: string
}

const MS_PER_S = 1_000
/** Rows that are shown where nobody says how many. */
const MOST = 1_000

/** `svc esim issue|qr|revoke|sheet|euiccs`, `svc esim certs …` */
export const commands: Commands = {
  ...certCommands,
  'esim issue': issue,
  'esim qr': async (host) => {
    const { code, png, svg } = host.typed
    const data = await host.call('GET /v1/esim/codes/{token}/qr', { path: { token: code } })
    const qrText = String(data.qr_text)
    if (typeof png === 'string') await host.writeSecret(png, await host.qrPicture(qrText, 'png'))
    if (typeof svg === 'string') await host.writeSecret(svg, await host.qrPicture(qrText, 'svg'))
    if (host.isJson) host.printRecord(data)
    else if (png === undefined && svg === undefined) await showCode(host, String(data.activation_code))
  },
  'esim revoke': async (host) => {
    const data = await host.call('POST /v1/esim/revoke', { body: { token: host.typed.code } })
    host.printRecord(data)
    const held = data.profile as { readonly state: string } | null // as the route documents it
    if (!host.isJson && held !== null && held.state !== 'deleted')
      host.err(
        `Its profile stays on the phone and works: svc sim suspend ${String(data.imsi_sha256_12)} cuts it off, svc sim revoke for good.\n`,
      )
  },
  'esim sheet': async (host) => {
    const { batch, out } = host.typed
    const { body } = await host.open('GET /v1/esim/sheet', { query: { batch } })
    const html = await text(body)
    if (typeof out !== 'string') return host.out(html)
    await host.writeSecret(out, html)
    host.err(`Whoever has ${out} can download the profiles: print it, then delete it.\n`)
  },
  'esim euiccs': async ({ typed, list, printRows, isJson }) => {
    const found = await list('GET /v1/esim/euiccs', 'euiccs', Number(typed.limit ?? MOST))
    const rows = isJson ? found.rows : found.rows.map(euiccRow)
    printRows({ ...found, rows }, [
      { title: 'EID', value: '…{eid_last4}', fit: 'whole' },
      { title: 'CI', value: 'authority' },
      'profiles',
      { title: 'FIRST SEEN', value: 'first_seen_at' },
      { title: 'LAST SEEN', value: 'last_seen_at' },
      'locked_until',
    ])
  },
}

function euiccRow(row: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { authority, profiles } = row
  // As the route documents it.
  const held = (profiles ?? []) as readonly { readonly imsi_sha256_12: string; readonly state: string }[]
  return {
    ...row,
    authority: typeof authority === 'string' ? authority.slice(0, 8) : authority,
    profiles: held.map(({ imsi_sha256_12, state }) => `${imsi_sha256_12} ${state}`).join(', '),
  }
}

async function issue(host: CommandHost): Promise<void> {
  const { hash, batch, wait, confirmationCode: code } = host.typed
  if (hash !== undefined && batch !== undefined) throw host.usage('name a SIM or --batch, not both')
  if (wait === true && batch === undefined) throw host.usage('--wait goes with --batch')
  const confirmation_code = code === '-' ? (await host.input()).replace(/\r?\n$/, '') : code
  const body = { ...bodyOf(host), confirmation_code }
  if (batch === undefined) return await show(host, await issued(host, body))
  const { answer, stopped } = await issueBatch(host, body, wait === true)
  await show(host, answer)
  if (stopped !== undefined) throw stopped
}

/** What is asked for; JSON leaves out what is undefined. */
function bodyOf({ typed, simHash }: CommandHost): object {
  const { hash, replaces, downlinkBps: downlink_bps, uplinkBps: uplink_bps } = typed
  return {
    imsi_sha256_12: hash === undefined ? undefined : simHash(String(hash)),
    batch_id: typed.batch,
    expires_in: typed.expiresIn,
    eid: typed.eid,
    ci_pkid: typed.ci,
    count: typed.count,
    profile: typed.profile,
    apns: typed.apn,
    msin_start: typed.msinStart,
    imsi: typed.imsi,
    msisdn: typed.msisdn,
    quota_bytes: typed.quotaBytes,
    // Of one alone the service says which is missing.
    ambr: downlink_bps === undefined && uplink_bps === undefined ? undefined : { downlink_bps, uplink_bps },
    label: typed.label,
    replaces: replaces === undefined ? undefined : simHash(String(replaces)),
    sim_expires_in: typed.simExpiresIn,
    expires_at: typed.simExpiresAt,
  }
}

const issued = async ({ call }: CommandHost, body: object): Promise<Issued> =>
  await call('POST /v1/esim/issue', { body })

/** What was issued for a batch, and why no more was. */
interface BatchIssued {
  /** The answers as one: the codes of all, and how many SIMs are left. */
  readonly answer: Issued
  /** Undefined when no SIM is left. */
  readonly stopped: Error | undefined
}

/**
 * Has codes issued until every SIM of a batch has one. The service answers in parts, each durable when it is answered, so what was
 * issued is given back also when a later part is refused. `isPatient`: a refusal that says until when is waited for. Throws the refusal
 * of the first part.
 */
async function issueBatch(host: CommandHost, body: object, isPatient: boolean): Promise<BatchIssued> {
  const parts: Issued[] = []
  while (parts.length === 0 || (parts.at(-1)?.remaining ?? 0) > 0) {
    try {
      parts.push(await issued(host, body))
    } catch (error) {
      const refusal = error as CommandFailure // whatever a call throws
      const { retryAfterS: waitS } = refusal
      if (isPatient && waitS !== undefined) await patience(host, waitS, parts)
      else if (parts.length === 0) throw error
      else return { answer: joined(parts), stopped: howToGoOn(host, refusal, parts.at(-1)?.remaining) }
    }
  }
  return { answer: joined(parts), stopped: undefined }
}

async function patience({ err }: CommandHost, waitS: number, parts: readonly Issued[]): Promise<void> {
  // A service that says "at once" is not asked in a loop.
  const seconds = Math.max(1, waitS)
  err(`${codesOf(parts).length} issued; the limit sim_issue is reached, waiting ${seconds} s.\n`)
  await delay(seconds * MS_PER_S)
}

function howToGoOn({ failure }: CommandHost, refusal: CommandFailure, remaining: unknown): Error {
  const when = refusal.retryAfterS === undefined ? '' : ` in ${refusal.retryAfterS} s`
  const hint = `the codes above are issued; ${String(remaining)} SIMs are left: the same command takes them up${when}, with --wait by itself`
  return failure(refusal.code, refusal.message, hint, refusal)
}

/** A part of one SIM is answered as one code and as a list. */
function codesOf(parts: readonly Issued[]): NonNullable<Issued['codes']> {
  return parts.flatMap(({ codes = [] }) => codes)
}

function joined(parts: readonly Issued[]): Issued {
  const remaining = parts.at(-1)?.remaining
  return { ...parts[0], codes: codesOf(parts), ...(remaining === undefined ? {} : { remaining }) }
}

async function show(host: CommandHost, answer: Issued): Promise<void> {
  const { out, fields, table, err } = host
  const { codes, activation_code: text = '', ...rest } = answer
  if (host.isJson) return out(host.json(answer))
  if (codes === undefined) {
    out(fields(rest))
    return await showCode(host, text)
  }
  out(
    table(codes, [
      { title: 'CODE', value: 'token', fit: 'whole' },
      { title: 'SIM', value: 'imsi_sha256_12', fit: 'whole' },
      { title: 'ICCID', value: '…{iccid_last4}' },
      { title: 'UNTIL', value: 'expires_at' },
    ]),
  )
  err(`Print their cards: svc esim sheet ${String(codes[0]?.batch_id)} --out cards.html\n`)
}

/** An activation code as a person's phone takes it: as a QR code and as text. */
async function showCode({ out, qr }: CommandHost, text: string): Promise<void> {
  // Host names know no case, and upper case takes fewer modules.
  const [format = '', address = '', ...rest] = text.split('$')
  out(await qr([format, address.toUpperCase(), ...rest].join('$')))
  out(`${text}\n`)
}
