import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { assert, enterOwnMounts, eventually, suite, tempDir } from '@steeple/testkit'
import {
  bareService,
  issueSims,
  restoreBackup,
  sendBackup,
  simsOf,
  takeBackup,
  WORDS,
} from '../harness/backups.ts'
import { nowMs, openAir } from '../harness/radio/air.ts'
import { openBox } from '../harness/radio/box.ts'
import type { Service } from '../harness/service.ts'
import { memoryDisk } from '../harness/small-disk.ts'

enterOwnMounts(import.meta.filename)

const test = suite('e2e/backup-trouble', { limitMs: 1_200_000 })
/** With room for a backup beside what is kept free. */
const DISK_MIB = 160
const ARCHIVE_PROCESS = 'archive-main.js'

function leftovers(dataDir: string): readonly string[] {
  return readdirSync(dataDir).filter((name) => /^(\.backup-|restore-)/.test(name))
}

/** The processes of a service that pack or read a backup now. */
function archiveProcesses({ child: { pid } }: Service): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((one) => /\) \S (\d+) /.exec(read(`/proc/${one}/stat`))?.[1] === String(pid))
    .filter((one) => read(`/proc/${one}/cmdline`).includes(ARCHIVE_PROCESS))
}

/** Takes a backup and looks at the processes that pack it meanwhile. Whether it came as a whole. */
async function takeWatched(service: Service, look: (pid: number) => void): Promise<boolean> {
  const taken = takeBackup(service).then(
    () => true,
    () => false,
  )
  const over = taken.then(() => 'over')
  while ((await Promise.race([over, delay(2)])) !== 'over')
    for (const pid of archiveProcesses(service)) look(pid)
  return await taken
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/**
 * Sends the first half of a backup, does something, sends the rest; the status of the answer, 0 when it was cut off. With `hold` the rest is
 * never sent: what that gets leaves.
 */
async function sendInHalves(
  service: Service,
  file: Uint8Array,
  between: () => void,
  hold?: (leave: () => void) => void,
): Promise<number> {
  return await new Promise((resolve) => {
    const sent = request(`${service.url}/v1/restore`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${service.adminToken}`,
        'content-type': 'application/octet-stream',
        'content-length': String(file.length),
        ...WORDS,
      },
    })
    sent.on('response', (response) => {
      resolve(response.statusCode ?? 0)
      response.resume()
    })
    // A refusal may come before all is sent, and be lost.
    sent.on('error', () => resolve(0))
    sent.write(file.subarray(0, file.length >> 1), () => {
      between()
      if (hold === undefined) sent.end(file.subarray(file.length >> 1))
      else hold(() => void sent.destroy())
    })
  })
}

test('on a full disk nothing is taken or restored, nothing is left, and all goes on when there is room', async () => {
  const disk = memoryDisk(DISK_MIB)
  try {
    const dataDir = join(disk.path, 'data')
    const service = await bareService({ dataDir })
    await issueSims(service, 300)
    const file = await takeBackup(service)
    await issueSims(service, 1)
    disk.fill()
    const taken = await service.request('GET', '/v1/backup', { headers: WORDS })
    assert.is(taken.status, 503)
    const refused = await sendBackup(service, file)
    assert.is(refused.status, 503, JSON.stringify(refused.body))
    disk.free()
    const amid = await sendInHalves(service, file, () => disk.fill())
    assert.ok(amid === 503 || amid === 0, `${amid}`)
    disk.free()
    await eventually(async () => leftovers(dataDir).length === 0)
    await eventually(async () => (await sendBackup(service, file, '?dry_run=true')).status === 200)
    const restored = await restoreBackup(service, file)
    assert.is(await simsOf(restored), 300)
    assert.is(await restored.stop(), 0)
  } finally {
    disk.remove()
  }
})

test('nothing is left of a restore whose client leaves, or that the end of the service or a kill cuts off', async () => {
  await using dir = await tempDir()
  let service = await bareService({ dataDir: dir.path })
  await issueSims(service, 300)
  const file = await takeBackup(service)
  /** Sends half of a backup, and ends the exchange by `cut` once something of it lies there. */
  const cutOff = async (cut: (leave: () => void) => unknown): Promise<void> => {
    const held = Promise.withResolvers<() => void>()
    const sent = sendInHalves(service, file, () => undefined, held.resolve)
    const leave = await held.promise
    await eventually(async () => leftovers(dir.path).length === 1)
    await cut(leave)
    leave()
    await sent
  }
  await cutOff((leave) => leave())
  await eventually(async () => leftovers(dir.path).length === 0)
  await cutOff(() => service.stop())
  assert.equal(leftovers(dir.path), [])
  service = await bareService({ dataDir: dir.path })
  await cutOff(() => service.kill())
  service = await bareService({ dataDir: dir.path })
  assert.equal(leftovers(dir.path), [])
  assert.is(await simsOf(service), 300)
  await service.stop()
})

test('of restores, wrong guesses and a backup at the same time one restore is decided, and the node is what it says', async () => {
  await using dir = await tempDir()
  const service = await bareService({ dataDir: dir.path })
  await issueSims(service, 2)
  const file = await takeBackup(service)
  await issueSims(service, 3)
  const guesses = Array.from({ length: 4 }, (_, n) =>
    sendBackup(service, file, '', { 'x-backup-passphrase': `a wrong passphrase ${n}` }),
  )
  const answers = await Promise.all(guesses)
  for (const { status, body } of answers)
    assert.ok(status === 503 || (status === 400 && body.error.code === 'backup_decrypt_failed'), `${status}`)
  // One after the other: each costs a whole scrypt.
  assert.ok(answers.some(({ status }) => status === 400))
  assert.is(await simsOf(service), 5)

  const restores = Array.from({ length: 3 }, () => sendBackup(service, file).catch(() => undefined))
  const beside = takeBackup(service).catch(() => undefined)
  const statuses = (await Promise.all(restores)).map((answer) => answer?.status)
  assert.is(statuses.filter((status) => status === 200).length, 1, statuses.join())
  assert.ok(
    statuses.every((status) => status === undefined || status === 200 || status === 503),
    statuses.join(),
  )
  await beside
  await service.stop()
  const again = await bareService({ dataDir: dir.path })
  assert.is(await simsOf(again), 2)
  assert.is(leftovers(dir.path).length, 1)
  await again.stop()
})

test('the process that packs ends with the service or by itself, and nobody reads the passphrase in a list of processes', async () => {
  await using dir = await tempDir()
  const service = await bareService({ dataDir: dir.path })
  await issueSims(service, 300)
  const [passphrase = ''] = Object.values(WORDS)
  let seen = 0
  while (seen === 0)
    await takeWatched(service, (pid) => {
      seen += 1
      for (const what of ['cmdline', 'environ'])
        assert.not(read(`/proc/${pid}/${what}`).includes(passphrase), what)
    })
  const { body } = await service.request('GET', '/v1/audit?action=backup.create')
  assert.not(JSON.stringify(body).includes(passphrase))
  assert.not(service.output().includes(passphrase))

  // Ended by somebody: the client sees that its file is not whole, and the service goes on.
  let ended = 0
  for (let isWhole = true; isWhole || ended === 0; )
    isWhole = await takeWatched(service, (pid) => {
      ended += 1
      end(pid)
    })
  assert.is(await simsOf(service), 300)
  await eventually(async () => leftovers(dir.path).length === 0)

  const orphans: number[] = []
  while (orphans.length === 0)
    await takeWatched(service, (pid) => {
      orphans.push(pid)
      service.child.kill('SIGKILL')
    })
  await service.kill()
  await eventually(async () =>
    orphans.every((pid) => !read(`/proc/${pid}/cmdline`).includes(ARCHIVE_PROCESS)),
  )
})

test('a box on air is off it when it is restored, though its backup was taken on air', async () => {
  await using dir = await tempDir()
  const air = await openAir(dir.path)
  const box = await openBox(air, dir.path)
  try {
    await box.onAir()
    const file = await takeBackup(box.service)
    const restored = await restoreBackup(box.service, file)
    const servedMs = nowMs()
    const { status, body } = await restored.request('GET', '/v1/tx/arm')
    assert.is(status, 200)
    assert.is(body.armed, false, JSON.stringify(body))
    const { samples } = await air.since(servedMs)
    assert.is(samples, 0)
  } finally {
    await box.close()
    air.close()
  }
})

test.run()
