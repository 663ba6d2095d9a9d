import { ActivationCodeError, ChainError, Es9Error, Es9Refused, LpaError } from '@steeple/virtual-euicc'
import type { LabClock } from '../clock.ts'
import { type Esim, type EsimAction, EsimError, type EsimWish } from '../esim/esims.ts'
import { EumError } from '../esim/eum-file.ts'
import type { Phone } from '../phones/phone.ts'
import {
  askedIn,
  type ControlAnswer,
  ControlError,
  type ControlPlace,
  type ControlRequest,
  unknownPath,
} from './place.ts'
import { shown } from './shown.ts'

type Switched = Pick<Phone, 'powerOff' | 'powerOn' | 'state'>

/** A box tells its HSS of a new SIM within moments of its issue; a download may be faster. */
const KNOWN_WITHIN_MS = 5_000
const PAUSE_MS = 100

/**
 * Switches a phone on. One that the network does not know (yet) holds its card for no good from then on, as TS 24.301
 * §5.5.1.2.5 has it: it is switched off and on again for a while, as its owner would do. Resolves when it is not barred
 * or the while is over.
 */
export async function switchOn(phone: Switched, clock: LabClock): Promise<void> {
  phone.powerOn()
  for (let waited = 0; waited < KNOWN_WITHIN_MS; waited += PAUSE_MS) {
    if (phone.state === 'barred') {
      phone.powerOff()
      phone.powerOn()
    } else if (phone.state !== 'attaching') return
    await clock.sleep(PAUSE_MS)
  }
}

const ACTIONS: readonly string[] = ['enable', 'disable', 'delete'] satisfies readonly EsimAction[]

/** `/esims`: phones that download their SIM. Throws `ControlError`. */
export async function esims(
  request: ControlRequest,
  phone: string | undefined,
  action: string | undefined,
  place: ControlPlace,
): Promise<ControlAnswer> {
  try {
    if (phone === undefined && request.method === 'GET')
      return { status: 200, body: { esims: (await place.esims.list()).map(esimRecord) } }
    if (request.method !== 'POST') throw unknownPath()
    if (phone === undefined) return await attached(await place.esims.download(wishIn(request.body)), place)
    if (action === undefined || !ACTIONS.includes(action)) throw unknownPath()
    return await acted(phone, action as EsimAction, place) // one of the list
  } catch (error) {
    throw problemOf(error)
  }
}

async function acted(phone: string, action: EsimAction, place: ControlPlace): Promise<ControlAnswer> {
  const esim = await place.esims.act(phone, action)
  if (action === 'enable') return attached(esim, place)
  await place.fleet.remove(phone)
  return { status: 200, body: { esims: [esimRecord(esim)] } }
}

/** Its phone is switched on with what the profile holds. */
async function attached(esim: Esim, place: ControlPlace): Promise<ControlAnswer> {
  const inserted = await place.fleet.insert([esim.card])
  await Promise.all(inserted.map(({ phone }) => switchOn(phone, place.clock)))
  const { status, body } = await shown(inserted, 'all', place)
  return { status, body: { esims: [esimRecord(esim)], ...(body as object) } } // of `shown`: an object
}

/** An eSIM as it is shown: neither its IMSI nor its keys. */
function esimRecord(esim: Esim): object {
  return {
    phone: esim.phone,
    euicc: esim.eidLast4,
    iccid_last4: esim.iccidLast4,
    provider: esim.provider,
    name: esim.name,
    enabled: esim.isEnabled,
    waiting_notifications: esim.waiting,
  }
}

function wishIn(body: string): EsimWish {
  const { activation_code, confirmation_code, curve, euicc, server } = askedIn<Wished>(body)
  if (typeof activation_code !== 'string')
    throw new ControlError('expected {"activation_code": "LPA:1$…"}', { status: 400 })
  if (curve !== undefined && curve !== 'P-256' && curve !== 'brainpoolP256r1')
    throw new ControlError('curve is P-256 or brainpoolP256r1', { status: 400 })
  if (euicc !== undefined && (typeof euicc !== 'string' || !/^[0-9]{4}$/.test(euicc)))
    throw new ControlError('euicc takes the last four digits of an EID', { status: 400 })
  return {
    activationCode: activation_code,
    ...(typeof confirmation_code === 'string' ? { confirmationCode: confirmation_code } : {}),
    ...(curve === undefined ? {} : { curve }),
    ...(euicc === undefined ? {} : { euicc }),
    ...(typeof server === 'string' ? { server } : {}),
  }
}

interface Wished {
  readonly activation_code?: unknown
  readonly confirmation_code?: unknown
  readonly curve?: unknown
  readonly euicc?: unknown
  readonly server?: unknown
}

/** What an LPA would show. */
function problemOf(error: unknown): unknown {
  if (error instanceof ActivationCodeError) return refused(400, error)
  if (error instanceof Es9Refused || error instanceof Es9Error || error instanceof LpaError)
    return refused(409, error)
  if (error instanceof EsimError || error instanceof EumError || error instanceof ChainError)
    return refused(409, error)
  if (error instanceof TypeError)
    return new ControlError('the SM-DP+ cannot be reached; say where it is with --server', {
      status: 502,
      cause: error,
    })
  return error
}

function refused(status: number, error: Error): ControlError {
  return new ControlError(error.message, { status, cause: error })
}
