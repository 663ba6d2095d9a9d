import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '@steeple/testkit'
import { endOf, MAIN, type SvcRun, withoutOwnVariables } from './builds/program.ts'
import { type Launched, type LaunchOptions, launch, urlOf } from './launch.ts'

/** A running service under test: the built product in a process of its own. */
export interface Service extends AsyncDisposable {
  readonly url: string
  readonly dataDir: string
  readonly adminToken: string
  readonly child: ChildProcess
  /** Everything it printed so far, at most the last 64 MB. */
  output(): string
  /** Ms from spawn to the first 200 of /v1/healthz. */
  readonly startMs: number
  /** Processor time from spawn to then, ms. */
  readonly startCpuMs: number
  /** Resident memory in MiB. */
  residentMiB(): number
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>
  /** SIGTERM and wait; gives the exit code. */
  stop(): Promise<number | null>
  /** SIGKILL and wait. */
  kill(): Promise<void>
}

/** What a request may carry besides method and path. `token: undefined` sends none. */
export interface RequestOptions {
  readonly token?: string | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** An answer with its body parsed when it is JSON. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever shape the route documents
  readonly body: any
}

/** How to start a service under test. */
export interface StartOptions {
  /** A data directory to use and keep; a temporary one, removed at stop, when absent. */
  readonly dataDir?: string
  readonly flags?: readonly string[]
  /** `undefined` takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly adminToken?: string
  /** Its output goes to this file, as under a service manager, and not through this process. For benchmarks. */
  readonly outputFile?: string
  /** Node's own flags, e.g. `--expose-gc`. */
  readonly nodeFlags?: readonly string[]
  /** The program of a build, in the place of this checkout's. */
  readonly program?: string
}

/** Runs `svc <args>` to its end. */
export function runSvc(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input = '',
): Promise<SvcRun> {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { ...withoutOwnVariables(), ...env } })
  child.stdin.end(input)
  return endOf(child)
}

/** Starts the built product on a free loopback port and waits until it is healthy. */
export async function startService(options: StartOptions = {}): Promise<Service> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'steeple-e2e-'))
  const adminToken = options.adminToken ?? randomBytes(24).toString('hex')
  const output = options.outputFile === undefined ? undefined : openSync(options.outputFile, 'w')
  const startedAt = performance.now()
  const run = launch(
    ['--first-start', '--data-dir', dataDir, '--listen', '127.0.0.1:0', ...(options.flags ?? [])],
    {
      ...(options.program === undefined ? {} : { program: options.program }),
      nodeFlags: [...flagsOfItsFirstLine(), ...(options.nodeFlags ?? [])],
      ...(output === undefined ? {} : { stdout: output, stderr: output }),
      env: {
        SVC_ADMIN_TOKEN: adminToken,
        // Most tests put plugins in place that nobody has signed. Another program may be one that does not know the variable.
        ...(options.program === undefined ? { SVC_PLUGINS_ALLOW_UNSIGNED: 'true' } : {}),
        ...options.env,
      },
    },
  )
  if (output !== undefined) closeSync(output)
  const { child, exited } = run
  const url = await urlOf(run, options.outputFile)
  await eventually(async () => (await fetch(`${url}/v1/healthz`)).status === 200)
  const startMs = performance.now() - startedAt
  const startCpuMs = processorMs(child.pid ?? 0)
  const cleanUp = (): void => {
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true })
  }
  return {
    url,
    dataDir,
    adminToken,
    child,
    startMs,
    startCpuMs,
    output: run.output,
    residentMiB: () => {
      const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))
      return Number(line?.[1]) / 1024
    },
    request: (method, path, request = {}) => ask(url, method, path, { token: adminToken, ...request }),
    async [Symbol.asyncDispose](this: Service) {
      await this.stop()
    },
    stop: async () => {
      child.kill('SIGTERM')
      const code = await exited
      cleanUp()
      return code
    },
    kill: async () => {
      child.kill('SIGKILL')
      await exited
      cleanUp()
    },
  }
}

/** Processes that a test has started, ended after it however it ended. */
export interface Started {
  /** As `startService`. */
  start(options?: StartOptions): Promise<Service>
  launch(args: readonly string[], options?: LaunchOptions): Launched
  endAll(): void
}

/** An empty set of started processes. */
export function startedProcesses(): Started {
  const children: ChildProcess[] = []
  return {
    start: async (options) => {
      const service = await startService(options)
      children.push(service.child)
      return service
    },
    launch: (args, options) => {
      const run = launch(args, options)
      children.push(run.child)
      return run
    },
    endAll: () => {
      for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL')
    },
  }
}

/** Node's flags as the system reads them when the binary is run by its name. */
function flagsOfItsFirstLine(): readonly string[] {
  const flags = /^#!.* node (.*)/.exec(readFileSync(MAIN, 'utf8'))?.[1]
  if (flags === undefined) throw new Error(`${MAIN} does not begin with how node runs it`)
  return flags.split(' ')
}

/** A request of JSON as it goes on the wire; no credential without a `token`. */
export function jsonRequest(method: string, { token, body, headers }: Omit<RequestOptions, 'signal'>) {
  return {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  }
}

/** One request to the service at `url`. */
export async function ask(
  url: string,
  method: string,
  path: string,
  { signal, ...request }: RequestOptions = {},
): Promise<Answer> {
  const response = await fetch(url + path, {
    ...jsonRequest(method, request),
    ...(signal === undefined ? {} : { signal }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') === true && text !== ''
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
}

/** The body of an answer that is no refusal. */
export async function done(
  service: Pick<Service, 'request'>,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer['body']> {
  const answer = await service.request(method, path, body === undefined ? {} : { body })
  if (answer.status >= 300)
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** The cards of a batch with their keys, as the command writes them on the node: JSON. */
export async function exportedCards(
  dataDir: string,
  batch: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const args = ['sim', 'export', batch, '--data-dir', dataDir, '--format', 'json']
  const { code, stdout, stderr } = await runSvc(args, env)
  if (code !== 0) throw new Error(`svc sim export: ${stderr}`)
  return stdout
}

/** User and system time of a process, in steps of 10 ms. */
export function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}
