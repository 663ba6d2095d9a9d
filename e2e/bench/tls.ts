import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { launch, urlOf } from '../harness/launch.ts'
import { processorMs } from '../harness/service.ts'
import { type Finding, median } from './measure.ts'
import type { HandshakeLoad, HandshakeResult } from './tls-load.ts'

const ROUNDS = 5
const SECONDS = 3
const CONNECTIONS = 8
/** A handshake and its request cost at most so much more processor time than with nothing behind the server. */
const SHARE = 0.6

interface Round {
  readonly perSecond: number
  /** Processor time of the server for each handshake, ms. */
  readonly cpuMs: number
}

/**
 * New mutual TLS connections per second, each with one request, beside node's own server in the same run. The client is the
 * node itself: its certificate is judged and asked about, then refused for want of a role.
 */
export async function benchTls(): Promise<readonly Finding[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'steeple-bench-tls-'))
  const service = launch(['--first-start', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], {
    env: { SVC_TLS_ENABLED: 'true', SVC_ADMIN_TOKEN: 'bench-tls-admin-token-0123456789' },
  })
  let bare: ChildProcess | undefined
  try {
    const port = Number(new URL(await urlOf(service)).port)
    const read = (name: string): string => readFileSync(join(dataDir, 'keys', name), 'utf8')
    const [key, cert, ca] = [read('node.key'), read('node.pem'), read('mesh-ca.pem')]
    bare = fork(fileURLToPath(new URL('./bare-tls.ts', import.meta.url)), { execArgv: ['--no-warnings'] })
    bare.send({ key, cert: cert + ca, ca })
    const [address] = (await once(bare, 'message')) as [{ readonly port: number }]
    const common = { cert, key, ca, connections: CONNECTIONS, seconds: SECONDS }
    const ours: Round[] = []
    const theirs: Round[] = []
    for (let n = 0; n < ROUNDS; n++) {
      ours.push(await round({ ...common, port, path: '/v1/tokens' }, service.child, '403'))
      theirs.push(await round({ ...common, port: address.port, path: '/' }, bare, '200'))
    }
    return findings(ours, theirs)
  } finally {
    bare?.kill()
    service.child.kill('SIGTERM')
    await service.exited
    rmSync(dataDir, { recursive: true, force: true })
  }
}

function findings(ours: readonly Round[], theirs: readonly Round[]): readonly Finding[] {
  const rate = (rounds: readonly Round[]): number => median(rounds.map(({ perSecond }) => perSecond))
  const cost = (rounds: readonly Round[]): number => median(rounds.map(({ cpuMs }) => cpuMs))
  return [
    {
      name: 'mutual TLS handshakes, each with one request',
      value: rate(ours),
      unit: '/s',
      beside: { what: 'bare node server', value: rate(theirs) },
      target: `≥ ${SHARE * 100} % of it`,
      isMet: rate(ours) >= SHARE * rate(theirs),
    },
    {
      name: 'processor time of one of them',
      value: cost(ours),
      unit: 'ms',
      beside: { what: 'bare node server', value: cost(theirs) },
      target: `≤ ${Math.round(100 / SHARE)} % of it`,
      isMet: cost(ours) <= cost(theirs) / SHARE,
    },
  ]
}

async function round(load: HandshakeLoad, server: ChildProcess, expected: string): Promise<Round> {
  const before = processorMs(server.pid ?? 0)
  const child = fork(fileURLToPath(new URL('./tls-load.ts', import.meta.url)), {
    execArgv: ['--no-warnings'],
  })
  child.send(load)
  // tls-load.ts sends exactly one message of that shape.
  const [result] = (await once(child, 'message')) as [HandshakeResult]
  if (result.failures > 0 || result.statuses[expected] !== result.total)
    throw new Error(`the load got ${JSON.stringify(result)}`)
  return { perSecond: result.perSecond, cpuMs: (processorMs(server.pid ?? 0) - before) / result.total }
}
