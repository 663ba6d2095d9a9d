import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unusedPort } from '@steeple/testkit'
import { until } from './service.ts'

/** Whether Debian's package `prometheus` is here. In CI it must be. */
export function hasPrometheus(): boolean {
  const isHere = ['prometheus', 'promtool'].every((name) => spawnSync(name, ['--version']).status === 0)
  if (!isHere && process.env.CI === 'true')
    throw new Error('needs prometheus and promtool: apt install prometheus')
  return isHere
}

/** Runs `promtool <args>`; a problem that it finds is in `text`, and `code` is not 0. */
export async function promtool(
  args: readonly string[],
  input = '',
): Promise<{ readonly code: number; readonly text: string }> {
  return await new Promise((resolve) => {
    const child = execFile('promtool', [...args], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), text: stdout + stderr }),
    )
    child.stdin?.end(input)
  })
}

/** One series of an answer. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A Prometheus of its own, for one test. */
export interface Prometheus {
  /** What an expression gives now. Throws with Prometheus' own words when it is none. */
  query(expression: string): Promise<readonly Sample[]>
  get(path: string): Promise<unknown>
  stop(): Promise<void>
}

interface QueryAnswer {
  readonly status: string
  readonly error?: string
  readonly data?: {
    readonly result: readonly { readonly metric: Record<string, string>; readonly value: [number, string] }[]
  }
}

/** Scrapes `target` (host:port) each second with the given rules; its files are in `folder`. */
export async function startPrometheus(folder: string, target: string, rules: string): Promise<Prometheus> {
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [rules],
    scrape_configs: [{ job_name: 'steeple', static_configs: [{ targets: [target] }] }],
  }
  const file = join(folder, 'prometheus.yml')
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(config))
  const listen = `127.0.0.1:${await unusedPort()}`
  const flags = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, 'tsdb')}`,
    `--web.listen-address=${listen}`,
  ]
  const child: ChildProcess = spawn('prometheus', flags, { stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = once(child, 'exit')
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said = (said + chunk).slice(-10_000)
  })
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`prometheus ended: ${said}`)
    return await fetch(`http://${listen}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  })
  const get = async (path: string): Promise<unknown> => await (await fetch(`http://${listen}${path}`)).json()
  return {
    get,
    query: async (expression) => {
      // Prometheus documents this shape.
      const answer = (await get(`/api/v1/query?query=${encodeURIComponent(expression)}`)) as QueryAnswer
      if (answer.status !== 'success') throw new Error(`${expression}: ${answer.error}`)
      return (answer.data?.result ?? []).map(({ metric, value }) => ({
        labels: metric,
        value: Number(value[1]),
      }))
    },
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}
