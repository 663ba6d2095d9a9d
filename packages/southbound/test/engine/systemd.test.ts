import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { assert, eventually, failureOf, suite, tempDir } from '@steeple/testkit'
import { systemdEngine } from '../../src/engine/systemd.ts'

/** The engine of systemd where nobody answers as it should; on a real one it is tried by e2e/test/real-systemd.test.ts. */
const systemd = suite('southbound/engine/systemd')
const never = new AbortController().signal
const MME = 'open5gs-mmed.service'

systemd('keeps no connection to a bus that does not answer in time', async () => {
  await withBus(
    () => undefined,
    async (busAddress, connections) => {
      const failure = await failureOf(systemdEngine({ busAddress, answerMs: 50 }).inspect(MME, never))
      assert.match(failure.message, /no answer within 50 ms/)
      await eventually(() =>
        assert.equal(
          connections.map(({ destroyed }) => destroyed),
          [true],
        ),
      )
    },
  )
})

systemd('says at once that a bus has gone away', async () => {
  await withBus(
    (connection) => connection.end(),
    async (busAddress) => {
      const failure = await failureOf(systemdEngine({ busAddress }).inspect(MME, never))
      assert.match(failure.message, /^unit open5gs-mmed\.service: the system bus does not answer/)
    },
  )
})

systemd.run()

/** With a socket at which everybody who connects gets `welcome`. */
async function withBus(
  welcome: (connection: Socket) => void,
  work: (busAddress: string, connections: readonly Socket[]) => Promise<void>,
): Promise<void> {
  await using dir = await tempDir()
  const path = join(dir.path, 'bus')
  const connections: Socket[] = []
  const server = createServer((connection) => {
    connections.push(connection.resume())
    welcome(connection)
  }).listen(path)
  await once(server, 'listening')
  try {
    await work(`unix:path=${path}`, connections)
  } finally {
    for (const one of connections) one.destroy()
    server.close()
  }
}
