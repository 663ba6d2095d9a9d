import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes, X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { eventually } from '@steeple/testkit'
import { endOf, MAIN, type SvcRun, withoutOwnVariables } from '../builds/program.ts'
import { answerOf, createClient } from '../http-client.ts'
import { type Answer, jsonRequest } from '../service.ts'
import { fakedClock } from '../shifted-clock.ts'
import type { BoxPlace } from './places.ts'

const PORT = 8_443
const START_LIMIT_MS = 180_000
const OUTPUT_KEPT = 4_000_000

/** A box of the mesh: a place, a data directory, and the service while it runs. */
export interface Box {
  readonly name: string
  readonly place: BoxPlace
  readonly dataDir: string
  readonly nodeId: string
  readonly adminToken: string
  /** `https://address:port` of its API on the local network. */
  readonly url: string
  /** Starts the service and waits until it answers. */
  start(): Promise<void>
  /** SIGTERM and wait; the exit code. */
  stop(): Promise<number | null>
  /** SIGKILL and wait. Nothing to do when it does not run. */
  kill(): Promise<void>
  isRunning(): boolean
  /** Asks its API as the admin, over TLS below a CA that one of the boxes has made. */
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>
  /** Runs `svc <args>` on the box, as its operator does. */
  svc(...args: readonly string[]): Promise<SvcRun>
  /** What the service has printed, of all its runs. */
  output(): string
  /** From now on the clock of its processes is so many seconds ahead; the machine's tools keep the real one. */
  shiftClock(seconds: number): void
}

/** What a box is started with. */
export interface BoxOptions {
  readonly name: string
  readonly place: BoxPlace
  /** An empty folder of the box's own. */
  readonly folder: string
  /** More environment (`SVC_…`). */
  readonly env?: Readonly<Record<string, string>>
  /** Its configuration (YAML), which it may write. */
  readonly config?: string
  /** More flags of the service. */
  readonly flags?: readonly string[]
  /** A build that is started by its launcher, and again when it fails, instead of this checkout. */
  readonly build?: string
}

/** Initialises a box; its service does not run yet. */
export async function makeBox({
  name,
  place,
  folder,
  env = {},
  config: yaml = '',
  flags = [],
  build,
}: BoxOptions): Promise<Box> {
  const dataDir = join(folder, 'data')
  mkdirSync(folder, { recursive: true })
  // Its own: what the machine has is none of its business.
  const config = join(folder, 'control.yaml')
  writeFileSync(config, yaml)
  const adminToken = randomBytes(24).toString('hex')
  const url = `https://${place.address}:${PORT}`
  const clock = fakedClock(folder)
  let output = ''
  let running: { readonly child: ChildProcess; readonly exited: Promise<number | null> } | undefined

  const program = build === undefined ? [process.execPath, MAIN] : [join(build, 'bin/svc')]
  const launcher = build === undefined ? program : [join(build, 'bin/launch'), join(dataDir, 'builds')]
  const launch = (
    args: readonly string[],
    more: Readonly<Record<string, string>> = {},
    command: readonly string[] = program,
  ): ChildProcess => {
    const [file = '', ...inside] = [...place.inside, ...command, ...args]
    return spawn(file, inside, {
      env: {
        ...withoutOwnVariables(),
        SVC_ADMIN_TOKEN: adminToken,
        SVC_TLS_ENABLED: 'true',
        SVC_PEERING_HEARTBEAT: '2s',
        ...env,
        ...clock.env(),
        ...more,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }
  const svc: Box['svc'] = (...args) => {
    const bundle = join(folder, 'cas.pem')
    if (existsSync(join(dataDir, 'keys'))) writeFileSync(bundle, casOf(dataDir).join(''))
    return endOf(launch(args, { SVC_URL: `https://localhost:${PORT}`, SVC_CA: bundle }))
  }
  const start = async (): Promise<void> => {
    const own = [...flags, '--config', config, '--data-dir', dataDir, '--listen', `0.0.0.0:${PORT}`]
    const child = launch(own, {}, launcher)
    const from = output.length
    const take = (piece: Buffer): void => {
      output = (output + piece.toString('utf8')).slice(-OUTPUT_KEPT)
    }
    child.stdout?.on('data', take)
    child.stderr?.on('data', take)
    const exited = new Promise<number | null>((resolve) => child.on('close', (code) => resolve(code)))
    running = { child, exited }
    // As systemd does with `Restart=on-failure`.
    if (build !== undefined)
      void exited.then((code) =>
        running?.child === child && code !== 0 ? start().catch(() => undefined) : undefined,
      )
    await eventually(async () => {
      if (child.exitCode !== null) return true
      return (await ask('GET', '/v1/healthz')).status === 200
    }, START_LIMIT_MS)
    if (child.exitCode !== null) throw new Error(`${name} ended:\n${output.slice(from)}`)
  }
  const ask: Box['ask'] = (method, path, body, headers = {}) =>
    askBox({ address: place.address, dataDir, adminToken }, method, path, body, headers)
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    const one = running
    running = undefined
    one?.child.kill(signal)
    return (await one?.exited) ?? null
  }
  const made = await svc('node', 'init', '--name', name, '--data-dir', dataDir)
  if (made.code !== 0) throw new Error(`svc node init: ${made.stderr}`)
  return {
    name,
    place,
    dataDir,
    nodeId: nodeIdOf(dataDir),
    adminToken,
    url,
    start,
    stop: () => end('SIGTERM'),
    kill: async () => {
      await end('SIGKILL')
    },
    isRunning: () => running !== undefined && running.child.exitCode === null,
    ask,
    svc,
    output: () => output,
    shiftClock: clock.shift,
  }
}

function nodeIdOf(dataDir: string): string {
  const { node_id: nodeId } = JSON.parse(readFileSync(join(dataDir, 'keys/node.json'), 'utf8')) as {
    readonly node_id: string
  }
  return nodeId
}

/** Its own CA, and that of the mesh once it is in one. */
function casOf(dataDir: string): readonly string[] {
  const own = readFileSync(join(dataDir, 'keys/mesh-ca.pem'), 'utf8')
  const file = join(dataDir, 'keys/mesh/mesh.json')
  if (!existsSync(file)) return [own]
  const { ca_pem: mesh } = JSON.parse(readFileSync(file, 'utf8')) as { readonly ca_pem: string }
  return [own, mesh]
}

interface AskedBox {
  readonly address: string
  readonly dataDir: string
  readonly adminToken: string
}

async function askBox(
  { address, dataDir, adminToken }: AskedBox,
  method: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<Answer> {
  // Its times go by the clock of the box, which may be days away from the one here.
  const agent = { keepAlive: false, rejectUnauthorized: false }
  const client = createClient(`https://${address}:${PORT}`, 1, agent, (socket) =>
    strangerProblem(socket, casOf(dataDir)),
  )
  return answerOf(await client.send({ path, ...jsonRequest(method, { token: adminToken, body, headers }) }))
}

/** What is wrong with the certificate of who answers; undefined when one of the CAs has signed it. */
function strangerProblem(socket: TLSSocket, cas: readonly string[]): string | undefined {
  const leaf = socket.getPeerX509Certificate()
  const isKnown = cas
    .map((pem) => new X509Certificate(pem))
    .some((ca) => leaf?.checkIssued(ca) === true && leaf.verify(ca.publicKey))
  return isKnown ? undefined : `its certificate is from ${leaf?.issuer ?? 'nobody'}`
}
