import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import type { Issued } from '@steeple/sgp22'
import { assert, eventually, listen, suite, type TempDir, tempDir } from '@steeple/testkit'
import { downloadProfile } from '@steeple/virtual-euicc'
import { pemOf } from '../src/certs/held.ts'
import { readNotification } from '../src/rsp/euicc-messages.ts'
import {
  clientUnder,
  type Es2Bed,
  HOST,
  newCa,
  type OrderSystem,
  serverUnder,
  startEs2,
} from './support/es2-bed.ts'
import { eidOf } from './support/pki.ts'

/** A step of a download as it was told. */
interface Told {
  readonly header: { readonly functionRequesterIdentifier: string; readonly functionCallIdentifier: string }
  readonly eid?: string
  readonly iccid: string
  readonly profileType: string
  readonly timestamp: string
  readonly notificationPointId: number
  readonly resultData?: string
  readonly notificationPointStatus: {
    readonly status: string
    readonly statusCodeData?: { readonly subjectCode: string; readonly reasonCode: string }
  }
}
/** An order system that is told. */
interface Receiver {
  readonly url: string
  /** What it has taken. */
  readonly told: readonly Told[]
  /** How many calls it had, also those that it has failed. */
  calls(): number
  /** What it answers from now on. */
  answer(status: number): void
  /** Names of the clients and paths that were asked for. */
  readonly seen: Set<string>
  stop(): Promise<void>
}

/** Listens with mutual TLS under a CA. */
async function receiver(ca: Issued): Promise<Receiver> {
  const told: Told[] = []
  const seen = new Set<string>()
  let status = 204
  let calls = 0
  const authority = pemOf(ca.certificate.raw)
  const tls = { ...serverUnder(ca, 'localhost'), ca: authority, requestCert: true, rejectUnauthorized: true }
  const server = createServer(tls, (incoming, outgoing) => {
    incoming.setEncoding('utf8')
    let text = ''
    incoming.on('data', (chunk: string) => {
      text += chunk
    })
    incoming.on('end', () => {
      calls += 1
      const { subject } = (incoming.socket as TLSSocket).getPeerCertificate()
      seen.add(`${subject.CN} ${incoming.method} ${incoming.url} ${incoming.headers['x-admin-protocol']}`)
      if (status === 204) told.push(JSON.parse(text) as Told)
      outgoing.writeHead(status)
      outgoing.end()
    })
  })
  const { url, close } = await listen(server, 'localhost')
  return {
    url,
    told,
    seen,
    calls: () => calls,
    answer: (next) => {
      status = next
    },
    stop: close,
  }
}

const progress = suite('esim-smdp/es2-progress')
let all: Es2Bed
let bss: OrderSystem
let other: Receiver
let files: TempDir

progress.before(async () => {
  const ca = newCa('BSS')
  other = await receiver(ca)
  files = await tempDir('es2-files-')
  const file = (name: string, text: string): string => {
    const path = join(files.path, name)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }
  const keys = clientUnder(ca, 'our-smdp')
  all = await startEs2({
    notify_url: other.url,
    notify_ca: file('ca.pem', pemOf(ca.certificate.raw)),
    notify_cert: file('client.pem', keys.cert),
    notify_key: file('client.key', keys.key),
  })
  bss = all.system('bss-1')
})
progress.after(async () => {
  bss.close()
  await all.stop()
  await other.stop()
  await files.remove()
})

async function ordered(
  confirm: object = {},
): Promise<{ readonly iccid: string; readonly matchingId: string }> {
  const iccid = (await bss.call('downloadOrder', { profileType: 'default' })).body.iccid ?? ''
  const { body } = await bss.call('confirmOrder', { iccid, releaseFlag: true, ...confirm })
  return { iccid, matchingId: body.matchingId ?? '' }
}
const download = (matchingId: string, number: number, confirmationCode?: string): Promise<unknown> =>
  downloadProfile({
    euicc: all.euicc(number),
    activationCode: `LPA:1$${HOST}$${matchingId}${confirmationCode === undefined ? '' : '$$1'}`,
    baseUrl: all.bed.url,
    ...(confirmationCode !== undefined && { confirmationCode }),
  })
const of = (iccid: string) => other.told.filter((one) => one.iccid === iccid)
/** Points and results, in the order of the points. */
const points = (iccid: string): readonly string[] =>
  of(iccid)
    .map(({ notificationPointId, notificationPointStatus: { status, statusCodeData: data } }) =>
      [
        notificationPointId,
        status,
        ...(data === undefined ? [] : [`${data.subjectCode}/${data.reasonCode}`]),
      ].join(' '),
    )
    .toSorted()

progress('tells of a download that goes well, as the client that it is', async () => {
  const { iccid, matchingId } = await ordered()
  await download(matchingId, 1)
  await eventually(() => of(iccid).length === 3)
  assert.equal(points(iccid), ['1 Executed-Success', '3 Executed-Success', '4 Executed-Success'])
  const [one] = of(iccid)
  const results = of(iccid).map(({ resultData = '' }) => Buffer.from(resultData, 'base64'))
  const [result = new Uint8Array()] = results.filter(({ length }) => length > 0)
  assert.is(readNotification(result).event, 'install')
  assert.equal([one?.eid, one?.profileType], [eidOf(1), 'default'])
  assert.match(one?.timestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  assert.is(one?.header.functionRequesterIdentifier, '2.999.10')
  const path = '/gsma/rsp2/es2plus/handleDownloadProgressInfo'
  assert.equal([...other.seen], [`our-smdp POST ${path} gsma/rsp/v2.5.0`])
})

progress('tells of a wrong confirmation code, and of one who refuses', async () => {
  const { iccid, matchingId } = await ordered({ confirmationCode: '4711' })
  await download(matchingId, 2, '4712').then(
    () => assert.unreachable(),
    () => undefined,
  )
  await eventually(() => of(iccid).length === 2)
  assert.equal(points(iccid), ['1 Executed-Success', '2 Failed 8.2.7/3.8'])
  const second = await ordered()
  const refusing = { activationCode: `LPA:1$${HOST}$${second.matchingId}`, baseUrl: all.bed.url }
  await downloadProfile({ ...refusing, euicc: all.euicc(3), consent: () => 0 }).then(
    () => assert.unreachable(),
    () => undefined,
  )
  await eventually(() => of(second.iccid).length === 2)
  assert.equal(points(second.iccid), ['1 Executed-Success', '3 Failed 8.1/4.2'])
})

progress('tells nothing of codes that nobody has ordered', async () => {
  const body = { label: 'of the desk' }
  const issued = (await all.bed.request('POST', '/v1/esim/issue', { body })).body as {
    activation_code: string
  }
  const before = other.calls()
  await downloadProfile({
    euicc: all.euicc(4),
    activationCode: issued.activation_code,
    baseUrl: all.bed.url,
  })
  const { iccid, matchingId } = await ordered()
  await download(matchingId, 5)
  await eventually(() => of(iccid).length === 3)
  assert.is(other.calls() - before, 3)
})

progress('delivers while the order system is away, and tells it all when it is back', async () => {
  other.answer(503)
  const { iccid, matchingId } = await ordered()
  await download(matchingId, 6)
  const before = other.calls()
  await eventually(() => other.calls() > before)
  other.answer(204)
  await eventually(() => of(iccid).length === 3)
  const calls = of(iccid).map(({ header }) => header.functionCallIdentifier)
  assert.is(new Set(calls).size, 3)
})

progress.run()
