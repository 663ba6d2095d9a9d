import { generateKeyPairSync } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type CommandColumn,
  type CommandFailure,
  type CommandHost,
  type Commands,
  countText,
} from '@steeple/contracts'
import { providerCommands } from './providers/commands.ts'

const CURVES = ['P-256', 'brainpoolP256r1'] as const
/** A page of the list at its largest: more than a service ever has. */
const MOST_CERTS = 500
/** Certificates, revocation lists and keys by their usual endings; others in a folder are left alone. */
const ENDINGS = /\.(pem|der|crt|cer|crl|key)$/i
/** By whether it is revoked, in use and of a CI whose key is published. */
const USED = {
  'true true true': 'revoked',
  'true true false': 'revoked',
  'true false true': 'revoked',
  'true false false': 'revoked',
  'false false true': '',
  'false false false': '',
  'false true true': 'for tests',
  'false true false': 'yes',
}
const COLUMNS: readonly (string | CommandColumn)[] = [
  { value: 'role', fit: 'whole' },
  { value: 'curve', fit: 'whole' },
  { title: 'KEY', value: 'has_key', words: { true: 'yes', false: '' } },
  { title: 'IN USE', value: '{revoked} {in_use} {is_test}', words: USED },
  { title: 'UNTIL', value: 'not_after' },
  'hosts',
  'subject',
  'id',
]

/** `svc esim certs init|export-ci|import|remove|revoke|lab-eum` */
const certCommands: Commands = {
  'esim certs init': async (host) => {
    const { host: name, curve: curves, force } = host.typed
    shown(host, await host.call('POST /v1/esim/certs/init', { body: { host: name, curves, force } }))
  },
  'esim certs export-ci': async (host) => {
    const { rows } = await host.list('GET /v1/esim/certs', 'certs', MOST_CERTS)
    const only = host.typed.curve
    const cis = rows.filter(
      ({ role, in_use: isUsed, curve }) => role === 'ci' && isUsed === true && curve === (only ?? curve),
    )
    if (cis.length === 0)
      throw host.failure(
        'no_ci',
        'no CI is in use; svc esim certs init makes one for a lab, svc esim certs list shows what is there',
      )
    const certs = await Promise.all(
      cis.map(({ id }) => host.call('GET /v1/esim/certs/{id}', { path: { id } })),
    )
    host.out(host.isJson ? host.json({ certs }) : certs.map(({ pem }) => String(pem)).join(''))
  },
  'esim certs import': async (host) => {
    const names = host.typed.files as readonly string[] // several, as its usage says
    const paths = (await Promise.all(names.map((name) => filesAt(host, name)))).flat()
    const files = await Promise.all(
      paths.map(async (path) => ({
        name: basename(path),
        base64: (await readFile(path)).toString('base64'),
      })),
    )
    const body = { files, force: host.typed.force }
    shown(host, await host.call('POST /v1/esim/certs/import', { body }))
  },
  'esim certs remove': async ({ typed, call, err }) => {
    await call('DELETE /v1/esim/certs/{id}', { path: { id: typed.id } })
    err('removed\n')
  },
  'esim certs revoke': async (host) => {
    const { id, issuer, serial, restore } = host.typed
    if ((id === undefined) !== (issuer !== undefined && serial !== undefined))
      throw host.usage('name the certificate by its id, or by --issuer and --serial')
    const body = { id, issuer, serial, restore }
    host.printRecord(await host.call('POST /v1/esim/certs/revoke', { body }))
  },
  'esim certs lab-eum': labEum,
}

function shown(host: CommandHost, data: Readonly<Record<string, unknown>>): void {
  if (host.isJson) {
    host.printRecord(data)
    return
  }
  const rows = data.certs as readonly Readonly<Record<string, unknown>>[] // as the routes document it
  host.printRows({ key: 'certs', rows, nextCursor: null }, COLUMNS)
  if (rows.some((row) => row.is_test === true))
    host.err(
      'The private key of this CI is published: anyone can make eUICCs with it and read profiles. Issue only SIMs for tests.\n',
    )
}

async function filesAt({ failure }: CommandHost, path: string): Promise<readonly string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path]
    const entries = await readdir(path, { recursive: true })
    return entries.filter((entry) => ENDINGS.test(entry)).map((entry) => join(path, entry))
  } catch (error) {
    throw failure('cannot_read', `${path} cannot be read: ${error instanceof Error ? error.message : ''}`)
  }
}

async function labEum(host: CommandHost): Promise<void> {
  const { out, curve: only } = host.typed
  if (typeof out !== 'string') throw host.usage('say where to write it: --out FILE')
  const curves = CURVES.filter((curve) => only === undefined || curve === only)
  const pairs = curves.map((curve) => {
    const namedCurve = curve === 'P-256' ? 'prime256v1' : curve
    return { curve, ...generateKeyPairSync('ec', { namedCurve }) }
  })
  const public_keys = pairs.map(({ publicKey }) =>
    publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  )
  const data = await host.call('POST /v1/esim/certs/lab-eum', { body: { public_keys } })
  // As the route documents it.
  const eums = (data.eums as readonly { readonly curve: string }[]).map((eum) => {
    const pair = pairs.find(({ curve }) => curve === eum.curve)
    return { ...eum, key: pair?.privateKey.export({ format: 'pem', type: 'pkcs8' }) }
  })
  await host.writeSecret(out, host.json({ eums }))
  if (host.isJson) host.out(host.json({ file: out, curves }))
  else host.out(host.fields({ file: out, curves: curves.join(', ') }))
}

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
  ...providerCommands,
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
    const { batch, out, language } = host.typed
    const { body } = await host.open('GET /v1/esim/sheet', { query: { batch, language } })
    const html = await text(body)
    if (typeof out !== 'string') return host.out(html)
    await host.writeSecret(out, html)
    host.err(`Whoever has ${out} can download the profiles: print it, then delete it.\n`)
  },
  'esim mdm-list': async (host) => {
    const { batch, out } = host.typed
    const { body } = await host.open('GET /v1/esim/mdm-list', { query: { batch_id: batch } })
    const csv = await text(body)
    if (typeof out !== 'string') return host.out(csv)
    await host.writeSecret(out, csv)
    host.err(`Whoever has ${out} can download the profiles: delete it when the MDM has it.\n`)
  },
  'esim euicc list': async ({ typed, list, printRows, isJson }) => {
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
  const hint = `the codes above are issued; ${countText(String(remaining), 'SIM is', 'SIMs are')} left: the same command goes on${when}, with --wait by itself`
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
