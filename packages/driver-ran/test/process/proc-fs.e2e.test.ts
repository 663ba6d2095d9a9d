import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { deviceName, lockDevice } from '../../src/process/device-lock.ts'
import { machineHints, requireLauncher } from '../../src/process/preflight.ts'
import {
  argumentsOf,
  hasEnvironment,
  isAlive,
  isPrivilegedExec,
  markOf,
  processIds,
} from '../../src/process/proc-fs.ts'
import { openDirectory, readOverlays, writeFiles } from '../../src/supervisor/radio-files.ts'

const machine = suite('driver-ran/machine')

machine('tells a process from a later one with its id, and from its zombie', async () => {
  const child = spawn('/bin/sh', ['-c', 'read x'], { env: { MARK: 'here' }, detached: true })
  const pid = child.pid ?? 0
  const mark = markOf(pid)
  assert.ok(mark !== undefined && isAlive(mark))
  assert.ok(mark !== undefined && !isAlive({ ...mark, startTicks: '1' }))
  assert.ok(mark !== undefined && !isAlive({ ...mark, bootId: 'another' }))
  assert.ok(processIds().includes(pid))
  await eventually(() => hasEnvironment(pid, 'MARK=here'))
  assert.is(hasEnvironment(pid, 'MARK=her'), false)
  assert.equal(argumentsOf(pid), ['/bin/sh', '-c', 'read x'])
  assert.is(isPrivilegedExec(pid), false)
  child.kill('SIGKILL')
  // Until this turn ends nobody waits for it: it is a zombie.
  await eventually(() => mark !== undefined && !isAlive(mark))
  await eventually(() => markOf(pid) === undefined)
})

machine('gives a device to one at a time and takes it back from who is gone', async () => {
  const name = deviceName({ device_name: 'UHD', device_args: `serial=${Math.random()}` })
  const first = await lockDevice(name)
  try {
    await lockDevice(name)
    assert.unreachable('the device was given twice')
  } catch (error) {
    assert.match(String(error), /another service on this machine uses the radio device/)
  }
  await first.release()
  const second = await lockDevice(name)
  await second.release()
  assert.is(
    deviceName({ device_name: 'UHD', device_args: 'a' }),
    deviceName({ device_name: 'uhd', device_args: 'a' }),
  )
})

machine('finds the launcher here and says in short what the machine lacks', async () => {
  await requireLauncher()
  for (const hint of machineHints()) assert.match(hint, /^[a-z_]+: .{5,120}$/)
})

machine('keeps its files to itself, each whole', async () => {
  await using folder = await tempDir()
  const directory = join(folder.path, 'ran')
  mkdirSync(directory, { mode: 0o755 })
  await openDirectory(directory)
  await writeFiles(directory, new Map([['enb.conf', 'a = 1\n']]))
  assert.is(statSync(directory).mode & 0o777, 0o700)
  const file = join(directory, 'enb.conf')
  const { ino, mode } = statSync(file)
  assert.is(mode & 0o777, 0o600)
  await writeFiles(directory, new Map([['enb.conf', 'a = 1\n']]))
  assert.is(statSync(file).ino, ino, 'a full disk could not take it again')
  await writeFiles(directory, new Map([['enb.conf', 'a = 2\n']]))
  assert.is(readFileSync(file, 'utf8'), 'a = 2\n')
  symlinkSync(directory, join(folder.path, 'link'))
  let refusal: unknown
  await openDirectory(join(folder.path, 'link')).catch((error: unknown) => {
    refusal = error
  })
  assert.match(String(refusal), /must be a directory and no link/)
})

machine('reads the overlays of its program alone, and refuses one that is too large unread', async () => {
  await using folder = await tempDir()
  writeFileSync(join(folder.path, 'sib.conf'), 'sib1 = { };')
  writeFileSync(join(folder.path, 'enb.conf'), 'x')
  writeFileSync(join(folder.path, 'gnb.yml'), 'x'.repeat(1_000_000))
  assert.equal([...(await readOverlays(folder.path, 'srsenb'))], [['sib.conf', 'sib1 = { };']])
  assert.is((await readOverlays(folder.path, 'gnb')).get('gnb.yml')?.length, 65_537)
  assert.is((await readOverlays('', 'srsenb')).size, 0)
  assert.is((await readOverlays(join(folder.path, 'none'), 'srsenb')).size, 0)
})

machine.run()
