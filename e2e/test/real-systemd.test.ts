import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newLinesOfOutput, systemdEngine } from '@steeple/southbound'
import { assert, eventually, suite } from '@steeple/testkit'
import { type BootedDebian, bootDebian } from '../containers/booted-debian.ts'
import { enterOwnMachine } from '../containers/own-machine.ts'
import { runsWith } from '../harness/compatibility/runs.ts'

enterOwnMachine(import.meta.filename)

/** The engine of `southbound.driver: systemd` on a real systemd, its bus and its journal. */
const units = suite('e2e/real-systemd')
const never = new AbortController().signal
const LIMITS = { stopTimeoutS: 20 }
const MME = 'open5gs-mmed.service'

type UnitEngine = ReturnType<typeof systemdEngine>

let machine: BootedDebian
let engine: UnitEngine

units.before(async () => {
  machine = await bootDebian()
  engine = systemdEngine({
    busAddress: `unix:path=${machine.inside('/run/dbus/system_bus_socket')}`,
    journalctl: (args) => machine.must('journalctl', ...args),
  })
  unit(MME, 'echo "ready as $$"; exec sleep infinity')
  unit('restless.service', 'echo "FATAL: no such PLMN" >&2; exit 3', 'Restart=always\nRestartSec=50ms')
  unit('ends.service', 'echo done')
  writeFileSync(
    machine.inside('/etc/systemd/system/nowhere.service'),
    '[Service]\nExecStart=/usr/bin/open5gs-nowhere\n',
  )
  await machine.must('systemctl', 'daemon-reload')
  runsWith('Debian', 'cat', join(machine.folder, 'etc/debian_version'))
  runsWith('systemd', 'chroot', machine.folder, 'systemctl', '--version')
})
units.after(() => machine?.off())

units('tells of a unit that runs, one that has ended and one that is not there', async () => {
  await machine.must('systemctl', 'start', MME, 'ends.service')
  const mme = await engine.inspect(MME, never)
  assert.is(mme?.isRunning, true)
  assert.is(String(mme?.pid), (await machine.must('systemctl', 'show', '-P', 'MainPID', MME)).trim())
  assert.ok(Math.abs((mme?.startedAtMs ?? 0) - Date.now()) < 60_000)
  await eventually(async () => (await engine.inspect('ends.service', never))?.isRunning === false)
  const ended = await engine.inspect('ends.service', never)
  assert.equal([ended?.exitCode, ended?.pid], [0, undefined])
  assert.is(await engine.inspect('open5gs-smfd.service', never), undefined)
})

units('restarts a unit, and starts one that has ended', async () => {
  const before = await engine.inspect(MME, never)
  assert.is(await engine.restart(MME, LIMITS, never), undefined)
  const after = await engine.inspect(MME, never)
  assert.ok(after?.isRunning)
  assert.is.not(after?.pid, before?.pid)
  assert.is.not(after?.id, before?.id)
  await machine.must('systemctl', 'stop', MME)
  assert.equal((await engine.inspect(MME, never))?.isRunning, false)
  assert.is(await engine.restart(MME, LIMITS, never), undefined)
  assert.ok((await engine.inspect(MME, never))?.isRunning)
})

units('starts a unit again however often it has failed, and tells how it ended', async () => {
  // systemd itself refuses the sixth start within ten seconds.
  for (let turn = 0; turn < 8; turn += 1)
    assert.is(await engine.restart('restless.service', LIMITS, never), undefined)
  await eventually(async () => ((await engine.inspect('restless.service', never))?.restartCount ?? 0) > 1)
  await machine.must('systemctl', 'stop', 'restless.service')
  assert.is(await engine.restart('nowhere.service', LIMITS, never), undefined)
  await eventually(async () => (await engine.inspect('nowhere.service', never))?.exitCode === 203)
  const refusal = await failureOf(engine.restart('open5gs-smfd.service', LIMITS, never))
  assert.match(refusal, /^unit open5gs-smfd\.service: systemd has no such unit$/)
})

units('reads what a unit has said, and each new line once', async () => {
  assert.match(await engine.logsTail('restless.service', 50, never), /FATAL: no such PLMN/)
  const start = await newLinesOfOutput(engine, MME, undefined, never)
  assert.equal(start.lines, [])
  await engine.restart(MME, LIMITS, never)
  let position = start.position
  const seen: string[] = []
  await eventually(async () => {
    const next = await newLinesOfOutput(engine, MME, position, never)
    position = next.position
    seen.push(...next.lines.filter((line) => line.startsWith('ready as')))
    return seen.length > 0
  })
  assert.is(seen.length, 1)
  assert.equal((await newLinesOfOutput(engine, MME, position, never)).lines, [])
})

units('refuses what is no name of a unit, and says when no bus answers', async () => {
  for (const name of ['open5gs-mmed', '../x.service', '--version.service\n', 'a b.service'])
    assert.match(await failureOf(engine.inspect(name, never)), /is no name of a service unit/)
  const away = systemdEngine({ busAddress: 'unix:path=/nowhere/bus' })
  assert.match(await failureOf(away.inspect(MME, never)), /the system bus does not answer \(ENOENT\)/)
})

units.run()

function unit(name: string, script: string, more = ''): void {
  const text = `[Service]\nExecStart=/bin/sh -c '${script}'\n${more}\n`
  writeFileSync(machine.inside(`/etc/systemd/system/${name}`), text)
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
  } catch (error) {
    return (error as Error).message
  }
  return ''
}
