import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { assert, enterOwnNetwork, eventually, runTool, suite, tempDir } from '@steeple/testkit'
import { nftClosing, notedClosing, openLeftBehind } from '../../src/external/core-closing.ts'

enterOwnNetwork(import.meta.filename)

const closing = suite('driver-ran/external/core-closing')

const CELL = '127.0.0.50'
const OTHER = '127.0.0.51'
const CORE = '127.0.0.2'
const GTP_U = 2_152

async function bound(address: string, port: number): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.bind(port, address)
  await once(socket, 'listening')
  return socket
}

const signal = (): AbortSignal => AbortSignal.timeout(20_000)

closing('closes the core to the cell and to nobody else, counts its tries, and opens it again', async () => {
  const heard: string[] = []
  const core = await bound(CORE, GTP_U)
  core.on('message', (_, { address }) => heard.push(address))
  const cell = await bound(CELL, 0)
  const other = await bound(OTHER, 0)
  const knock = async (): Promise<void> => {
    heard.length = 0
    cell.send('x', GTP_U, CORE)
    // What comes behind it says that it would have come by now.
    await eventually(() => {
      other.send('x', GTP_U, CORE)
      assert.ok(heard.includes(OTHER))
    })
  }
  try {
    const gate = nftClosing()
    assert.is(await gate.close(CELL, signal()), 0)
    await knock()
    assert.equal(heard.includes(CELL), false)
    assert.is(await gate.close(CELL, signal()), 1)
    // Another copy, as after a restart, and rules that somebody has flushed.
    runTool('nft', 'flush', 'ruleset')
    assert.is(await gate.close(CELL, signal()), 0)
    await knock()
    assert.equal(heard.includes(CELL), false)
    await nftClosing().open(signal())
    await knock()
    assert.equal(heard.includes(CELL), true)
    await gate.open(signal())
    assert.equal(runTool('nft', 'list', 'ruleset').trim(), '')
  } finally {
    for (const socket of [core, cell, other]) socket.close()
  }
})

closing('what was closed is opened by who comes next and drives no cell', async () => {
  const folder = await tempDir()
  const ruleset = (): string => runTool('nft', 'list', 'ruleset').trim()
  try {
    const kept = notedClosing(nftClosing(), folder.path)
    await kept.close(CELL, signal())
    await openLeftBehind(folder.path, signal())
    assert.is(ruleset(), '')
    // Nothing of this folder: it may be the table of another service of this machine.
    await nftClosing().close(CELL, signal())
    await openLeftBehind(folder.path, signal())
    assert.match(ruleset(), /svc_ran/)
    await kept.close(CELL, signal())
    await kept.open(signal())
    assert.is(ruleset(), '')
  } finally {
    await folder.remove()
  }
})

closing.run()
