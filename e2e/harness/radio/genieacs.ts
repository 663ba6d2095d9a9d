import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { eventually, unusedPort } from '@steeple/testkit'
import { runsWith } from '../compatibility/runs.ts'
import { type Mongo, needMongo, startMongo } from '../hss/mongo.ts'

const FOLDER = process.env.SVC_TEST_GENIEACS ?? ''

/** GenieACS itself over a database of its own. */
export interface Genieacs {
  /** Of its northbound interface. */
  readonly url: string
  /** Where cells come. */
  readonly cwmpUrl: string
  readonly database: Mongo
  /** What it keeps of the collection. */
  list(collection: 'tasks' | 'faults'): Promise<readonly unknown[]>
  close(): Promise<void>
}

/** Ends the file of tests, also in CI, with a word of what it needs: no registry has GenieACS. */
export function needGenieacs(): void {
  needMongo()
  if (existsSync(join(FOLDER, 'bin/genieacs-nbi'))) return
  process.stdout.write(
    'needs SVC_TEST_GENIEACS, a folder with bin/genieacs-cwmp and bin/genieacs-nbi of GenieACS\n',
  )
  process.exit(0)
}

export async function startGenieacs(): Promise<Genieacs> {
  runsWith(
    'GenieACS',
    process.execPath,
    '-p',
    `require(${JSON.stringify(join(FOLDER, 'package.json'))}).version`,
  )
  const database = await startMongo()
  const [cwmpPort, nbiPort] = [await unusedPort(), await unusedPort()]
  const start = (name: 'cwmp' | 'nbi', port: number) => {
    const own = `GENIEACS_${name.toUpperCase()}`
    const env = {
      ...process.env,
      GENIEACS_MONGODB_CONNECTION_URL: `${database.url}/genieacs`,
      [`${own}_INTERFACE`]: '127.0.0.1',
      [`${own}_PORT`]: String(port),
      [`${own}_WORKER_PROCESSES`]: '1',
    }
    return spawn(process.execPath, [join(FOLDER, 'bin', `genieacs-${name}`)], { env, stdio: 'ignore' })
  }
  const children = [start('cwmp', cwmpPort), start('nbi', nbiPort)]
  const url = `http://127.0.0.1:${nbiPort}`
  const cwmpUrl = `http://127.0.0.1:${cwmpPort}/`
  await eventually(async () => (await fetch(`${url}/tasks/`)).ok && (await fetch(cwmpUrl)).status > 0)
  return {
    ...{ url, cwmpUrl, database },
    list: async (collection) => (await (await fetch(`${url}/${collection}/`)).json()) as readonly unknown[],
    close: async () => {
      const gone = children.map((child) => once(child, 'exit'))
      for (const child of children) child.kill()
      await Promise.all(gone)
      await database.close()
    },
  }
}
