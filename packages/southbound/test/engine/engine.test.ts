import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, failureOf, suite, tempDir } from '@steeple/testkit'
import { dockerAt, engineAt, socketOf, usualSocket, whereOf } from '../../src/engine/engine.ts'
import { startEngine } from '../support/stand-in-engine.ts'

const test = suite('southbound/engine')
const never = new AbortController().signal

test('tells of a container that runs, one that has ended and one that is not there', async () => {
  await using standIn = await startEngine()
  standIn.add('mme')
  Object.assign(standIn.add('smf'), { isRunning: false, exitCode: 134, restartCount: 7 })
  const engine = engineAt(standIn.socket)
  const mme = await engine.inspect('mme', never)
  assert.equal([mme?.id, mme?.isRunning, mme?.exitCode], ['id-of-mme', true, undefined])
  assert.is(mme?.startedAtMs, Date.parse('2026-01-01T00:00:00Z'))
  const smf = await engine.inspect('smf', never)
  assert.equal([smf?.isRunning, smf?.exitCode, smf?.restartCount], [false, 134, 7])
  assert.is(await engine.inspect('upf', never), undefined)
})

test('restarts a container, and starts one that has ended', async () => {
  await using standIn = await startEngine()
  const mme = standIn.add('mme')
  mme.isRunning = false
  const engine = engineAt(standIn.socket)
  assert.is(await engine.restart('mme', { stopTimeoutS: 1 }, never), undefined)
  assert.ok(mme.isRunning)
  assert.equal([...standIn.restarts], ['mme'])
})

test('gives what the engine says of a container that it cannot start, and refuses one that is not there', async () => {
  await using standIn = await startEngine()
  standIn.add('mme', () => ({ refusal: 'error mounting "/etc/open5gs": no such file or directory' }))
  const engine = engineAt(standIn.socket)
  assert.match(
    (await engine.restart('mme', { stopTimeoutS: 1 }, never)) ?? '',
    /the engine answers 500: error mounting/,
  )
  const error = await failureOf(engine.restart('smf', { stopTimeoutS: 1 }, never))
  assert.is(error.code, 'southbound_unavailable')
  assert.match(error.message, /container smf: there is no such container/)
})

test('gives the last words of a container as text', async () => {
  await using standIn = await startEngine()
  standIn.add('mme').log = 'first\nERROR: No mme.gummei\n'
  assert.is(await engineAt(standIn.socket).logsTail('mme', 10, never), 'first\nERROR: No mme.gummei\n')
})

test('bounds every call to an engine that hangs', async () => {
  await using standIn = await startEngine()
  standIn.add('mme')
  standIn.mood = 'hang'
  const engine = engineAt(standIn.socket, { answerMs: 30 })
  const calls = [engine.inspect('mme', never), engine.logsTail('mme', 5, never)]
  for (const error of await Promise.all(calls.map(failureOf))) {
    assert.is(error.code, 'southbound_unavailable')
    assert.match(error.message, /no answer within 30 ms/)
    assert.ok(error.message.includes(standIn.socket), 'the socket must be named')
  }
})

test('names the socket that is missing or answers nothing, and the key to look at', async () => {
  await using folder = await tempDir()
  const missing = join(folder.path, 'engine.sock')
  const absent = await failureOf(engineAt(missing).inspect('mme', never))
  assert.is(absent.code, 'southbound_unavailable')
  assert.ok(absent.message.includes(missing))
  assert.match(absent.message, /hss\.engine_socket/)
  const noSocket = join(folder.path, 'file')
  await writeFile(noSocket, '')
  const refused = await failureOf(engineAt(noSocket).inspect('mme', never))
  assert.is(refused.code, 'southbound_unavailable')
  assert.match(refused.message, /does not answer|may not use/)
})

test("takes Docker's socket, and Podman's where only that is there", async () => {
  await using folder = await tempDir()
  const [docker, podman] = [join(folder.path, 'docker.sock'), join(folder.path, 'podman.sock')]
  assert.is(usualSocket([docker, podman]), docker)
  await writeFile(podman, '')
  assert.is(usualSocket([docker, podman]), podman)
  await writeFile(docker, '')
  assert.is(usualSocket([docker, podman]), docker)
  const { DOCKER_HOST: host = '' } = process.env
  if (host === '') assert.match(socketOf('') ?? '', /^\//)
  else assert.match(whereOf(await dockerAt(''), ''), /^(\/|[^:]+:\d+$)/)
  assert.is(socketOf(podman), podman)
})

test('refuses what is no name of a container before it asks anybody', async () => {
  await using standIn = await startEngine()
  standIn.add('mme')
  const engine = engineAt(standIn.socket)
  for (const odd of ['../mme', 'mme/stop?t=1', 'a?b=1', '', '-mme', 'm'.repeat(129)]) {
    const calls = [
      engine.inspect(odd, never),
      engine.restart(odd, { stopTimeoutS: 1 }, never),
      engine.logsTail(odd, 5, never),
    ]
    for (const call of calls) {
      const error = await failureOf(call)
      assert.is(error.code, 'southbound_unavailable')
      assert.match(error.message, /is no name of a container/)
    }
  }
  assert.equal([...standIn.restarts], [])
})

test('reports an engine that is out of order', async () => {
  await using standIn = await startEngine()
  standIn.mood = 'broken'
  assert.match((await failureOf(engineAt(standIn.socket).inspect('mme', never))).message, /answers 500/)
})

test('ends with the reason of its signal', async () => {
  await using standIn = await startEngine()
  standIn.add('mme')
  standIn.mood = 'hang'
  const ending = new AbortController()
  const call = engineAt(standIn.socket).inspect('mme', ending.signal)
  ending.abort(new Error('the service stops'))
  assert.is((await failureOf(call)).message, 'the service stops')
})

test.run()
