import { spawn } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer as createHttp2, type Http2Server } from 'node:http2'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { runTool } from '@steeple/testkit'
import type { StandInCore } from './stand-in-core.ts'
import { nrfAnswer } from './stand-in-nrf.ts'

const FOLDER = join(homedir(), '.cache', 'steeple-test', 'free5gc-functions-5')
const SCRIPT = 'packages/driver-core-b/scripts/get-real-core.sh'
const SBI_PORT = 8000

/** Ends the file of tests with a word of what it needs when the functions were not built. In CI that is a failure. */
export function needRealFunctions(): void {
  if (existsSync(join(FOLDER, 'ready'))) return
  if (process.env.CI === 'true') throw new Error(`${FOLDER} is missing; run ${SCRIPT} once`)
  process.stdout.write(`needs ${SCRIPT}\n`)
  process.exit(0)
}

/** Loopback addresses that no other run has: the ports are free5GC's own. */
export function ownAddresses(): Readonly<Record<'amf' | 'chf' | 'nrf' | 'smf' | 'upf', string>> {
  const net = `127.${100 + (Math.floor(process.pid / 250) % 150)}.${process.pid % 250}`
  return { amf: `${net}.18`, chf: `${net}.113`, nrf: `${net}.10`, smf: `${net}.2`, upf: `${net}.8` }
}

/** Which of the functions, with how it is started: AMF 1.4.5 of release 4.2.3, the others of 3.4. */
const ARGUMENTS = {
  amf: ['-c', 'amfcfg.yaml'],
  chf: ['-c', 'chfcfg.yaml'],
  smf: ['-c', 'smfcfg.yaml', '-u', 'uerouting.yaml'],
} as const

export interface RealFunction {
  /** What it wrote. */
  output(): string
  stop(): Promise<void>
}

/** Starts a function in `dir` with the rendered files, and an NRF for it with the profiles and the key of `core`. */
export async function startRealFunction(
  name: keyof typeof ARGUMENTS,
  dir: string,
  files: ReadonlyMap<string, string>,
  core: StandInCore,
  addresses: { readonly nrf: string },
): Promise<RealFunction> {
  await mkdir(join(dir, 'cert'), { recursive: true })
  const publicKey = createPublicKey(core.key).export({ type: 'spki', format: 'pem' })
  await writeFile(join(dir, 'cert/nrf.pem'), publicKey)
  for (const [file, text] of files) await writeFile(join(dir, file), text)
  // Who speaks Diameter wants a certificate, as every installation has.
  const own = ['-keyout', join(dir, `cert/${name}.key`), '-out', join(dir, `cert/${name}.pem`)]
  runTool('openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${name}`, ...own)
  const nrf = await nrfForFunctions(core, addresses.nrf)
  const child = spawn(join(FOLDER, name), ARGUMENTS[name], { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] })
  const parts: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8')
    stream.on('data', (text: string) => parts.push(text))
  }
  return {
    output: () => parts.join(''),
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      nrf.close()
    },
  }
}

/** The stand-in NRF once more: functions speak HTTP/2 to it, without TLS. */
async function nrfForFunctions(core: StandInCore, address: string): Promise<Http2Server> {
  const server = createHttp2((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const answer = nrfAnswer(core, {
        method: request.method,
        path: request.url,
        authorization: request.headers.authorization,
        body: Buffer.concat(parts).toString('utf8'),
      })
      const location =
        answer.location === undefined ? {} : { location: `http://${address}:${SBI_PORT}${answer.location}` }
      response.writeHead(answer.status, { 'content-type': 'application/json', ...location })
      response.end(answer.body ?? '')
    })
  })
  server.listen(SBI_PORT, address)
  await once(server, 'listening')
  return server
}
