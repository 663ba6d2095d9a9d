import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  assert,
  eventually,
  type InlinePlugin,
  loadTestbed,
  pluginFrom,
  type Testbed,
} from '@steeple/testkit'
import { COLUMN_NAMES, type Column, cellsOf, plainCell } from '../../src/file/csv.ts'
import { verifyFile } from '../../src/file/verify.ts'
import { plugin } from '../../src/plugin.ts'

/** A row of a file as a test reads it. */
export type Row = Readonly<Record<Column, string>>

/** The real packages around the one under test. */
export interface World {
  readonly bed: Testbed
  readonly own: InlinePlugin
  /** The rows of a file that was checked, without its manifest. */
  rows(query?: string): Promise<readonly Row[]>
  /** The text of a file. */
  file(query?: string): Promise<string>
  /** Issues SIMs and gives their hashes. */
  issue(body?: object): Promise<readonly string[]>
  change(method: 'POST' | 'PUT', path: string, body?: unknown): Promise<void>
}

/** What a test wants beside the packages of every build. */
export interface WorldOptions {
  /** Further packages of the project. */
  readonly more?: readonly string[]
  readonly plugins?: readonly InlinePlugin[]
  readonly hss?: string
  readonly config?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** Starts it. The HSS is none unless a test brings one, so that nothing waits for one. */
export async function world(options: WorldOptions = {}): Promise<World> {
  const { more = [], plugins = [], hss = 'none', config = {} } = options
  const { startTestbed } = await loadTestbed()
  const own = await pluginFrom(new URL('../x', import.meta.url).href, plugin)
  const others = ['nodes', 'policy', 'sessions', 'sims', ...more].map((name) => ({
    dir: fileURLToPath(new URL(`../../../${name}`, import.meta.url)),
  }))
  const bed = await startTestbed({
    plugins: [...others, ...plugins, own],
    settings: { hss: { driver: hss } },
    config,
  })
  const file = async (query = ''): Promise<string> => {
    const { status, body, headers } = await bed.request('GET', `/v1/compliance/export${query}`)
    assert.is(status, 200, JSON.stringify(body))
    assert.match(headers.get('content-type') ?? '', /^text\/csv; charset=utf-8/)
    return String(body)
  }
  return {
    bed,
    own,
    file,
    rows: async (query) => {
      const text = await file(query)
      const ca = new X509Certificate(await readFile(join(bed.dataDir, 'keys', 'mesh-ca.pem')))
      const { problems, manifest } = await verifyFile(inPieces(text), [ca])
      assert.equal(problems, [])
      assert.is(manifest?.node_id, bed.identity.nodeId)
      const lines = text.split('\r\n').slice(1, -2)
      return lines.map(rowOf)
    },
    issue: async (body = {}) => {
      const answer = await bed.request('POST', '/v1/sims', { body })
      assert.is(answer.status, 201, JSON.stringify(answer.body))
      const { sims } = answer.body as { readonly sims: readonly { readonly imsi_sha256_12: string }[] }
      return sims.map((sim) => sim.imsi_sha256_12)
    },
    change: async (method, path, body) => {
      const answer = await bed.request(method, path, body === undefined ? {} : { body })
      assert.ok(answer.status < 300, `${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    },
  }
}

async function* inPieces(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text, 'utf8')
}

function rowOf(line: string): Row {
  const cells = (cellsOf(line) ?? []).map(plainCell)
  // Every column has a cell.
  return Object.fromEntries(COLUMN_NAMES.map((name, index) => [name, cells[index] ?? ''])) as Row
}

/** Waits until the record began: its snapshot is written in the background. */
export async function begun(all: World): Promise<void> {
  await eventually(async () =>
    assert.ok((await all.rows('?kinds=lifecycle')).some(({ detail }) => detail === 'snapshot')),
  )
}
