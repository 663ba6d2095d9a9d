import { createPrivateKey, type KeyObject, randomInt } from 'node:crypto'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Certificate, issueEuicc, type RspCurve, readCertificate } from '@steeple/sgp22'
import {
  deleteOn,
  deliverNotifications,
  disableOn,
  downloadProfile,
  type EuiccFile,
  enableOn,
  es9Client,
  fetchTransport,
  type InstalledProfile,
  type KeptEuicc,
  newEuiccFile,
  notificationsOn,
  openEuiccFile,
  readActivationCode,
  writeEuiccFile,
} from '@steeple/virtual-euicc'
import type { LabClock } from '../clock.ts'
import { type LabCard, phoneName } from '../phones/cards.ts'
import { type Journal, openJournal } from '../store/journal.ts'

/** One who makes eUICCs: a certificate under a CI, and the key to sign those of eUICCs with. */
export interface Eum {
  readonly curve: RspCurve
  readonly ciDer: Uint8Array
  readonly certificate: Certificate
  readonly key: KeyObject
  /** Digits that the EIDs of its eUICCs begin with. */
  readonly iin: string
}

/** A lab core that cannot make eUICCs. The message says what to do. */
export class EumError extends Error {}

/** Where `svc esim certs lab-eum` has to write it, in the folder of the lab core. */
const EUM_FILE = 'eum.json'

/**
 * The makers of the lab's eUICCs, as `svc esim certs lab-eum` writes them: JSON `{eums: [{curve, iin, ci, eum, key}]}`,
 * certificates in base64 (DER), keys in PEM (PKCS #8). Throws `EumError`.
 */
export async function readEums(path: string): Promise<readonly Eum[]> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new EumError(
      `the lab has nobody who makes eUICCs yet: svc esim certs init, then svc esim certs lab-eum --out ${path}`,
      { cause },
    )
  })
  try {
    const { eums } = JSON.parse(text) as { readonly eums: readonly Record<string, string>[] } // checked below
    const read = eums.map(eumOf)
    if (read.length > 0) return read
  } catch (cause) {
    throw new EumError(`${path} cannot be read; write it anew: svc esim certs lab-eum --out ${path}`, {
      cause,
    })
  }
  throw new EumError(`${path} is empty; write it anew: svc esim certs lab-eum --out ${path}`)
}

function eumOf({ curve, iin = '', ci = '', eum = '', key = '' }: Record<string, string>): Eum {
  const certificate = readCertificate(Buffer.from(eum, 'base64'))
  if ((curve !== 'P-256' && curve !== 'brainpoolP256r1') || !/^[0-9]{8}$/.test(iin))
    throw new EumError('a maker has a curve and the digits of its EIDs')
  return {
    curve,
    iin,
    ciDer: Uint8Array.from(Buffer.from(ci, 'base64')),
    certificate,
    key: createPrivateKey(key),
  }
}

/** A certificate of an eUICC outlives every lab. */
const YEARS_MS = 30 * 365 * 86_400_000
const EARLIER_MS = 3_600_000

/** An eUICC fresh from its maker: an EID, and a chain on each curve, or on that one alone. Throws `EumError`. */
export function newEuicc(eums: readonly Eum[], curve: RspCurve | undefined, nowMs: number): EuiccFile {
  const used = eums.filter((eum) => curve === undefined || eum.curve === curve)
  const [first] = used
  if (first === undefined) throw new EumError(`the lab has nobody who makes eUICCs on ${curve}`)
  const eid = newEid(first.iin)
  const notBeforeMs = nowMs - (nowMs % 1000) - EARLIER_MS
  const chains = used.map((eum) => {
    const { organization = '', country } = eum.certificate.subject
    const issued = issueEuicc(eum, {
      notBeforeMs,
      notAfterMs: Math.min(notBeforeMs + YEARS_MS, eum.certificate.notAfterMs),
      subject: {
        ...(country === undefined ? {} : { country }),
        organization,
        serialNumber: eid,
        commonName: 'Lab eUICC',
      },
    })
    return {
      curve: eum.curve,
      ciDer: eum.ciDer,
      eumDer: eum.certificate.raw,
      euiccDer: issued.certificate.raw,
      euiccKey: issued.key,
    }
  })
  return newEuiccFile(eid, chains)
}

/** 30 digits and two to check them by. GSMA SGP.29 §4. */
function newEid(iin: string): string {
  let digits = iin
  while (digits.length < 30) digits += randomInt(10)
  const rest = Number((BigInt(digits) * 100n) % 97n)
  return digits + String(98 - rest).padStart(2, '0')
}

export interface EsimWish {
  readonly activationCode: string
  readonly confirmationCode?: string
  /** Of a new eUICC; it has all that its maker has without. */
  readonly curve?: RspCurve
  /** Last four digits of an EID: onto that eUICC. A new one without. */
  readonly euicc?: string
  /** Where the SM-DP+ is, when not where its address says. */
  readonly server?: string
}

/** A profile on an eUICC of the lab. */
export interface Esim {
  readonly phone: string
  readonly eidLast4: string
  readonly iccidLast4: string
  readonly provider: string
  readonly name: string
  readonly isEnabled: boolean
  /** Notifications that no SM-DP+ has taken yet. */
  readonly waiting: number
  /** What its phone attaches with: out of the profile. */
  readonly card: LabCard
}

/** What an eSIM can be told. */
export type EsimAction = 'enable' | 'disable' | 'delete'

/** The eUICCs of the lab's phones. One thing is done at a time. */
export interface Esims {
  list(): Promise<readonly Esim[]>
  /** Downloads, enables and notifies. Throws what an LPA throws, `EumError`, `EsimError`. */
  download(wish: EsimWish): Promise<Esim>
  /** Does it and notifies; the eSIM as it was before when it is deleted. Throws `EsimError`. */
  act(phone: string, action: EsimAction): Promise<Esim>
  close(): Promise<void>
}

/** A wish that cannot be met. */
export class EsimError extends Error {}

const FILE = /^[0-9]{32}\.json$/
const LOOPBACK = /^(127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::\d{1,5})?$/i

/** The eUICCs in the folder of a lab core: files of their own, readable by its owner alone. */
export async function openEsims(place: {
  readonly directory: string
  readonly clock: LabClock
}): Promise<Esims> {
  const folder = join(place.directory, 'euicc')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const servers = await openJournal<string>(join(folder, 'servers.jsonl'))
  let last: Promise<unknown> = Promise.resolve()
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work, work)
    last = done.catch(() => undefined)
    return done
  }
  return {
    list: () => alone(async () => (await opened(folder)).flatMap(esimsOn)),
    download: (wish) => alone(() => downloaded(place, folder, servers, wish)),
    act: (phone, action) => alone(() => acted(folder, servers, phone, action)),
    close: async () => {
      await last
      await servers.close()
    },
  }
}

async function downloaded(
  place: { readonly directory: string; readonly clock: LabClock },
  folder: string,
  servers: Journal<string>,
  wish: EsimWish,
): Promise<Esim> {
  const { smdpAddress } = readActivationCode(wish.activationCode)
  const baseUrl = serverOf(smdpAddress, wish.server ?? servers.entries.get(smdpAddress))
  const kept = await chosen(place, folder, wish)
  try {
    const { profile } = await downloadProfile({
      euicc: kept.euicc,
      activationCode: wish.activationCode,
      baseUrl,
      ...(wish.confirmationCode === undefined ? {} : { confirmationCode: wish.confirmationCode }),
    })
    if (wish.server !== undefined) await servers.put(smdpAddress, wish.server)
    // It is durable before anybody is told that it is enabled.
    await kept.save()
    enableOn(kept.euicc, iccidOctets(profile.iccid))
    await kept.save()
    await told(kept, servers)
    return named(kept, phoneName(profile.imsi))
  } catch (error) {
    await kept.save()
    throw error
  }
}

async function acted(
  folder: string,
  servers: Journal<string>,
  phone: string,
  action: EsimAction,
): Promise<Esim> {
  const all = await opened(folder)
  const kept = all.find(({ euicc }) => euicc.profiles().some(({ imsi }) => phoneName(imsi) === phone))
  if (kept === undefined) throw new EsimError(`no eUICC of the lab holds a profile for ${phone}`)
  const before = named(kept, phone)
  const profile = kept.euicc.profiles().find(({ imsi }) => phoneName(imsi) === phone)
  const iccid = iccidOctets(profile?.iccid ?? '')
  if (action === 'enable') enableOn(kept.euicc, iccid)
  else if (before.isEnabled) disableOn(kept.euicc, iccid)
  if (action === 'delete') deleteOn(kept.euicc, iccid)
  await kept.save()
  await told(kept, servers)
  const waiting = notificationsOn(kept.euicc).length
  return action === 'delete' ? { ...before, isEnabled: false, waiting } : named(kept, phone)
}

/** Delivers what can be delivered; the rest waits until something is done next. */
async function told(kept: KeptEuicc, servers: Journal<string>): Promise<void> {
  const addresses = new Set(notificationsOn(kept.euicc).map(({ address }) => address))
  for (const address of addresses) {
    try {
      const client = es9Client(serverOf(address, servers.entries.get(address)), fetchTransport)
      await deliverNotifications(kept.euicc, client, address)
    } catch {
      // As with a phone that is out of reach: they are shown as waiting.
    }
  }
  if (addresses.size > 0) await kept.save()
}

async function chosen(
  place: { readonly directory: string; readonly clock: LabClock },
  folder: string,
  wish: EsimWish,
): Promise<KeptEuicc> {
  if (wish.euicc !== undefined) {
    const found = (await opened(folder)).filter(({ euicc }) => euicc.eid.endsWith(wish.euicc ?? ''))
    const [one] = found
    if (one === undefined || found.length > 1)
      throw new EsimError(`${found.length} eUICCs of the lab have an EID that ends in ${wish.euicc}`)
    return one
  }
  const eums = await readEums(join(place.directory, EUM_FILE))
  const made = newEuicc(eums, wish.curve, Math.floor(place.clock.nowUs() / 1000))
  const path = join(folder, `${made.eid}.json`)
  await writeEuiccFile(path, made)
  return openEuiccFile(path)
}

async function opened(folder: string): Promise<readonly KeptEuicc[]> {
  const files = (await readdir(folder)).filter((file) => FILE.test(file)).sort()
  return Promise.all(files.map((file) => openEuiccFile(join(folder, file))))
}

function esimsOn(kept: KeptEuicc): readonly Esim[] {
  const waiting = notificationsOn(kept.euicc).length
  return kept.euicc.profiles().map((profile) => esimOf(kept, profile, waiting))
}

function named(kept: KeptEuicc, phone: string): Esim {
  const found = esimsOn(kept).find((one) => one.phone === phone)
  if (found === undefined) throw new EsimError(`the eUICC holds no profile for ${phone}`)
  return found
}

function esimOf(kept: KeptEuicc, profile: InstalledProfile, waiting: number): Esim {
  if (profile.algorithm !== 'milenage')
    throw new EsimError(`phones of the lab know Milenage alone, and the profile has ${profile.algorithm}`)
  return {
    phone: phoneName(profile.imsi),
    eidLast4: kept.euicc.eid.slice(-4),
    iccidLast4: profile.iccid.slice(-4),
    provider: profile.provider,
    name: profile.name,
    isEnabled: profile.isEnabled,
    waiting,
    card: {
      imsi: profile.imsi,
      ki: Buffer.from(profile.ki).toString('hex'),
      opc: Buffer.from(profile.opc).toString('hex'),
    },
  }
}

/** An SM-DP+ of this machine is asked over loopback without TLS, any other with. Throws `EsimError`. */
function serverOf(address: string, server: string | undefined): string {
  const url = server ?? (LOOPBACK.test(address) ? `http://${address}` : `https://${address}`)
  if (!URL.canParse(url)) throw new EsimError('--server takes a URL such as http://127.0.0.1:8080')
  const { protocol, host } = new URL(url)
  if (protocol !== 'https:' && !(protocol === 'http:' && LOOPBACK.test(host)))
    throw new EsimError('without TLS only an SM-DP+ of this machine is asked: http://127.0.0.1:8080')
  return url
}

/** An ICCID as an eUICC is told it: swapped digits, F behind an odd number. */
function iccidOctets(iccid: string): Uint8Array {
  const digits = iccid.padEnd(20, 'F')
  return Uint8Array.from(Buffer.from(digits.replace(/(.)(.)/g, '$2$1'), 'hex'))
}
