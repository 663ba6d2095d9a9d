import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unusedPort } from '@steeple/testkit'
import { until } from './service.ts'

/** A server of ntfy. */
export interface Ntfy {
  readonly url: string
  /** The messages of a topic, oldest first. */
  messages(topic: string): Promise<readonly { readonly title?: string; readonly message: string }[]>
  stop(): Promise<void>
}

/** Whether ntfy is on the PATH. Debian does not have it: docs/alerts.md is tried with it where somebody has put it. */
export function hasNtfy(): boolean {
  return spawnSync('ntfy', ['--help']).status === 0
}

/** Starts one that keeps its messages in memory. */
export async function startNtfy(folder: string): Promise<Ntfy> {
  const port = await unusedPort()
  const url = `http://127.0.0.1:${port}`
  const config = join(folder, 'ntfy.yml')
  writeFileSync(config, '')
  const args = ['serve', '--config', config, '--listen-http', `127.0.0.1:${port}`, '--base-url', url]
  const child = spawn('ntfy', args, { stdio: 'ignore' })
  await until(async () => (await fetch(`${url}/v1/health`).catch(() => undefined))?.status === 200)
  return {
    url,
    messages: async (topic) => {
      const text = await (await fetch(`${url}/${topic}/json?poll=1`)).text()
      const lines = text.split('\n').filter((line) => line !== '')
      return lines.map((line) => JSON.parse(line) as { readonly message: string })
    },
    stop: async () => {
      child.kill()
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}
