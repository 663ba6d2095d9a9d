import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http2'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, runTool } from '@steeple/testkit'

/** The program of free5GC's CHF: that of release 3.4, or what somebody has built of another one (package `cmd` of its module). */
const CHF =
  process.env.SVC_TEST_CHF ?? join(homedir(), '.cache', 'steeple-test', 'free5gc-functions-5', 'chf')

/** Ends the file of tests with a word of what it needs when there is none. In CI that is a failure. */
export function needChf(): void {
  if (existsSync(CHF)) return
  const script = 'packages/driver-core-b/scripts/get-real-core.sh'
  if (process.env.CI === 'true') throw new Error(`${CHF} is missing; run ${script} once`)
  process.stdout.write(`needs ${script}\n`)
  process.exit(0)
}

const SBI_PORT = 8000
/** Loopback addresses that no other run has. */
const NET = `127.${100 + (Math.floor(process.pid / 250) % 150)}.${process.pid % 250}`
const ADDRESS = `${NET}.113`
const NRF = `${NET}.10`
const SERVICE = `http://${ADDRESS}:${SBI_PORT}/nchf-convergedcharging/v3`

export interface RealChf {
  /** Opens a charging session (TS 32.291 §6.1.3.2); its name. */
  create(imsi: string, session: number): Promise<string>
  /** Octets since the report before. */
  report(name: string, imsi: string, octets: Octets): Promise<void>
  release(name: string, imsi: string, octets: Octets): Promise<void>
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
}

export interface Octets {
  readonly up: number
  readonly down: number
}

/** An NRF that takes everybody in: a CHF does not listen before it was registered. */
export async function startNrf(): Promise<{ close(): void }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const isPut = request.method === 'PUT'
      const location = isPut ? { location: `http://${NRF}:${SBI_PORT}${request.url}` } : {}
      response.writeHead(isPut ? 201 : 204, { 'content-type': 'application/json', ...location })
      response.end(isPut ? '{"customInfo":{"oauth2":false}}' : '')
    })
  })
  server.listen(SBI_PORT, NRF)
  await once(server, 'listening')
  return server
}

/** Starts one that works in `dir` and writes its files to `cdrDir`: to a `/tmp` of its own, the only place that it knows. */
export async function startChf(dir: string, cdrDir: string): Promise<RealChf> {
  await mkdir(join(dir, 'cert'), { recursive: true })
  const files = ['-keyout', join(dir, 'cert/chf.key'), '-out', join(dir, 'cert/chf.pem')]
  runTool('openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=chf', ...files)
  await writeFile(join(dir, 'chfcfg.yaml'), JSON.stringify(configuration()))
  const child = spawn(
    'unshare',
    // Opened before: it may be in the /tmp that is hidden then.
    [
      '-m',
      'sh',
      '-ec',
      'exec 3<"$2"; mount --bind "$1" /tmp; exec /proc/self/fd/3 -c chfcfg.yaml',
      'sh',
      cdrDir,
      CHF,
    ],
    { cwd: dir, stdio: 'ignore' },
  )
  await eventually(async () => {
    assert.is(child.exitCode, null)
    await (await fetch(`${SERVICE}/`)).text()
  })
  return {
    create: async (imsi, session) => {
      const { headers } = await send('', 201, { ...request(imsi, session) })
      return headers.get('location')?.split('/').at(-1) ?? ''
    },
    report: async (name, imsi, octets) => {
      await send(`/${name}/update`, 200, { ...request(imsi, 1), ...used(octets) })
    },
    release: async (name, imsi, octets) => {
      const response = await post(`/${name}/release`, { ...request(imsi, 1), ...used(octets) })
      const text = await response.text()
      // Releases 3.4 and 4.0 answer a release that they have done with an empty 400.
      assert.ok(response.status === 204 || (response.status === 400 && text === ''), text)
    },
    kill: async (signal) => {
      child.kill(signal)
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}

function post(path: string, body: object): Promise<Response> {
  return fetch(`${SERVICE}/chargingdata${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

async function send(path: string, status: number, body: object): Promise<Response> {
  const response = await post(path, body)
  const text = await response.text()
  assert.is(response.status, status, text)
  return response
}

function request(imsi: string, session: number): object {
  return {
    subscriberIdentifier: `imsi-${imsi}`,
    chargingId: session,
    nfConsumerIdentification: { nFName: 'SMF', nFIPv4Address: '127.0.0.2', nodeFunctionality: 'SMF' },
    invocationTimeStamp: new Date().toISOString(),
    invocationSequenceNumber: 0,
    notifyUri: 'http://127.0.0.2:8000/nsmf-callback/notify',
    pDUSessionChargingInformation: {
      chargingId: session,
      userInformation: { servedGPSI: 'msisdn-', servedPEI: 'imeisv-4370816125816151' },
      pduSessionInformation: {
        networkSlicingInfo: { sNSSAI: { sst: 1, sd: '010203' } },
        pduSessionID: session,
        pduType: 'IPV4',
        servingNetworkFunctionID: { servingNetworkFunctionInformation: { nodeFunctionality: 'AMF' } },
        dnnId: 'internet',
      },
    },
  }
}

function used({ up, down }: Octets): object {
  const triggers = [{ triggerType: 'QUOTA_THRESHOLD', triggerCategory: 'IMMEDIATE_REPORT' }]
  const container = {
    quotaManagementIndicator: 'OFFLINE_CHARGING',
    triggers,
    triggerTimestamp: new Date().toISOString(),
    uplinkVolume: up,
    downlinkVolume: down,
    totalVolume: up + down,
    localSequenceNumber: 0,
  }
  const usage = { ratingGroup: 1, uPFID: '8d0f2f5a-1111-4222-8333-444455556666', requestedUnit: {} }
  return { multipleUnitUsage: [{ ...usage, usedUnitContainer: [container] }], triggers }
}

/** As free5GC's own `chfcfg.yaml`, which YAML takes as JSON. */
function configuration(): object {
  const tls = { pem: 'cert/chf.pem', key: 'cert/chf.key' }
  const diameter = (port: number): object => ({ protocol: 'tcp', hostIPv4: ADDRESS, port, tls })
  return {
    info: { version: '1.0.3' },
    configuration: {
      chfName: 'CHF',
      sbi: { scheme: 'http', registerIPv4: ADDRESS, bindingIPv4: ADDRESS, port: SBI_PORT, tls },
      nrfUri: `http://${NRF}:${SBI_PORT}`,
      nrfCertPem: 'cert/chf.pem',
      serviceNameList: ['nchf-convergedcharging'],
      mongodb: { name: 'free5gc', url: 'mongodb://127.0.0.1:1' },
      quotaValidityTime: 10_000,
      volumeLimit: 50_000,
      volumeLimitPDU: 10_000,
      volumeThresholdRate: 0.8,
      cgf: {
        enable: false,
        hostIPv4: ADDRESS,
        port: 2121,
        listenPort: 2122,
        passiveTransferPortRange: { start: 2123, end: 2130 },
        tls,
        cdrFilePath: '/tmp',
      },
      abmfDiameter: diameter(3868),
      rfDiameter: diameter(3869),
    },
    logger: { enable: true, level: 'info', reportCaller: false },
  }
}
