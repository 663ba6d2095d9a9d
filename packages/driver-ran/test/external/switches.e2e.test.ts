import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite, tempDir, unusedPort } from '@steeple/testkit'
import type { CellSwitch, SnmpConfig } from '../../src/external/cell-switch.ts'
import { commandSwitch } from '../../src/external/command-switch.ts'
import { genieacsSwitch } from '../../src/external/genieacs-switch.ts'
import { httpSwitch } from '../../src/external/http-switch.ts'
import { snmpSwitch } from '../../src/external/snmp-switch.ts'
import { acsServer, httpServer, MILLIWATTS, poeAgent } from './support/servers.ts'

const switches = suite('driver-ran/external/switches')

const patient = (): AbortSignal => AbortSignal.timeout(20_000)

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error('it resolved'),
    (reason: unknown) => reason,
  )
  assert.is(Reflect.get(Object(error), 'code'), 'southbound_unavailable', String(error))
  return String(error)
}

async function inFolder(body: (path: string) => Promise<void>): Promise<void> {
  const folder = await tempDir()
  try {
    await body(folder.path)
  } finally {
    await folder.remove()
  }
}

async function secretFile(folder: string, name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, `${text}\n`, { mode: 0o600 })
  return path
}

async function program(folder: string, name: string, script: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
  return path
}

async function turnsOnAndOff(one: CellSwitch): Promise<void> {
  await one.turn(true, patient())
  assert.is((await one.read(patient())).isOn, true)
  await one.turn(false, patient())
  assert.is((await one.read(patient())).isOn, false)
}

switches('a command switches, with its secrets in the environment and never a shell', () =>
  inFolder(async (folder) => {
    const state = join(folder, 'state')
    await writeFile(state, 'off 0')
    const relay = await program(folder, 'relay', `[ "$PASSWORD" = secret ] || exit 3; echo "$2" > "${state}"`)
    const status = await program(folder, 'status', `cat "${state}"`)
    const env = await secretFile(folder, 'env', 'PASSWORD=secret')
    const one = commandSwitch({
      ...{
        on: [relay, '$(reboot);', 'on 8.5'],
        off: [relay, '; x', 'off 0'],
        status: [status],
        env_file: env,
      },
    })
    await turnsOnAndOff(one)
    await one.turn(true, patient())
    assert.equal(await one.read(patient()), {
      isOn: true,
      meter: { of: 'power', isZero: false, shown: '8.5 W' },
    })
    await writeFile(state, 'on 8.5 channel 3350')
    assert.equal((await one.read(patient())).channel, { numbers: [3_350] })
    await writeFile(state, 'maybe')
    assert.match(await refusal(one.read(patient())), /neither "on" nor "off"/)
    const wrong = commandSwitch({ on: [relay], off: [relay], status: [join(folder, 'nothing')] })
    assert.match(await refusal(wrong.turn(true, patient())), /failed: it ended with 3/)
    assert.match(await refusal(wrong.read(patient())), /ENOENT/)
  }),
)

switches('a command that hangs is killed with what it started', () =>
  inFolder(async (folder) => {
    const pids = join(folder, 'pids')
    const hangs = await program(folder, 'hangs', `sleep 1000 & echo $! > "${pids}"; wait`)
    const one = commandSwitch({ on: [hangs], off: [hangs], status: [hangs] })
    assert.match(await refusal(one.read(AbortSignal.timeout(1_000))), /did not end in time/)
    const pid = Number(await readFile(pids, 'utf8'))
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => 'gone')
    assert.match(stat, /^gone$|\) Z /)
  }),
)

switches('calls switch, and the answer is read by a pointer', () =>
  inFolder(async (folder) => {
    let isOn = false
    let isBroken = false
    const server = await httpServer(({ url, method, headers }, body) => {
      if (headers.authorization !== 'Bearer t0ken') return { status: 401 }
      if (isBroken) return { status: 200, body: { relays: [{ ison: 'on' }] } }
      if (url === '/relay/0' && method === 'POST') isOn = JSON.parse(body).turn === 'on'
      return { status: 200, body: { relays: [{ ison: isOn }], meters: [{ power: isOn ? 7 : 0 }], dl: 3_350 } }
    })
    const status = { url: `${server.url}/status`, pointer: '/relays/0/ison', on: true, off: false }
    const calls = {
      on: { url: `${server.url}/relay/0`, body: '{"turn":"on"}' },
      off: { url: `${server.url}/relay/0`, body: '{"turn":"off"}' },
    }
    const token = await secretFile(folder, 'token', 'Bearer t0ken')
    const config = { ...calls, status, power: { pointer: '/meters/0/power' }, authorization_file: token }
    const one = httpSwitch(config)
    await turnsOnAndOff(one)
    assert.equal((await one.read(patient())).meter, { of: 'power', isZero: true, shown: '0 W' })
    const told = httpSwitch({ ...config, channel: { pointer: '/dl' } })
    assert.equal((await told.read(patient())).channel, { numbers: [3_350] })
    const silent = httpSwitch({ ...config, channel: { pointer: '/nothing' } })
    assert.equal((await silent.read(patient())).channel, { unknown: 'the cell at /nothing gives no channel' })
    const wrong = httpSwitch({
      ...config,
      authorization_file: await secretFile(folder, 'wrong', 'Bearer no'),
    })
    const refused = await refusal(wrong.turn(true, patient()))
    assert.match(refused, /answered with 401/)
    assert.not.match(refused, /Bearer/)
    isBroken = true
    assert.match(await refusal(one.read(patient())), /neither on nor off at \/relays\/0\/ison/)
    await chmod(token, 0o644)
    assert.match(await refusal(one.turn(true, patient())), /can be read by others; chmod 600 it/)
    await chmod(token, 0o600)
    await server.close()
    assert.match(await refusal(one.read(patient())), /ECONNREFUSED/)
  }),
)

switches('a PoE port is switched by SNMPv2c and SNMPv3', () =>
  inFolder(async (folder) => {
    const port = await unusedPort()
    const agent = poeAgent(port)
    const at = { host: '127.0.0.1', port, port_index: 7, power: { oid: MILLIWATTS, per_watt: 1_000 } }
    const file = (name: string, text: string) => secretFile(folder, name, text)
    const community = await file('rw', 'switch-rw')
    const keys: Pick<SnmpConfig, 'user' | 'auth' | 'priv' | 'auth_file' | 'priv_file'> = {
      ...{ user: 'steeple', auth: 'sha256', priv: 'aes' },
      ...{ auth_file: await file('auth', 'authauthauth1'), priv_file: await file('priv', 'privprivpriv1') },
    }
    try {
      for (const access of [{ community_file: community }, keys]) {
        const one = snmpSwitch({ ...at, ...access })
        await one.turn(true, patient())
        agent.becomes(3, 9_240)
        assert.is(agent.isEnabled(), true)
        assert.equal(await one.read(patient()), {
          isOn: true,
          meter: { of: 'power', isZero: false, shown: '9.24 W' },
        })
        await one.turn(false, patient())
        assert.match(await refusal(one.read(patient())), /DetectionStatus is deliveringPower/)
        agent.becomes(1, 0)
        assert.equal(await one.read(patient()), {
          isOn: false,
          meter: { of: 'power', isZero: true, shown: '0 W' },
        })
      }
      const reader = snmpSwitch({ ...at, community_file: await file('ro', 'switch-ro') })
      assert.is((await reader.read(patient())).isOn, false)
      assert.match(await refusal(reader.turn(true, patient())), /NoAccess|AuthorizationError/)
      const wrong = snmpSwitch({ ...at, ...keys, auth_file: await file('bad', 'wrongwrongwrong') })
      assert.not.match(await refusal(wrong.read(patient())), /wrongwrongwrong/)
      assert.match(
        await refusal(snmpSwitch({ ...at, port_index: 8, community_file: community }).read(patient())),
        /NoSuch/,
      )
      assert.match(
        await refusal(snmpSwitch({ ...at, community_file: await file('other', 'other') }).read(patient())),
        /no answer: see its address/,
      )
    } finally {
      await agent.close()
    }
  }),
)

switches('GenieACS switches a cell, and leaves no order to turn on behind', async () => {
  const acs = await acsServer()
  try {
    const one = genieacsSwitch({ url: acs.url, device: acs.device }, 'lte')
    await turnsOnAndOff(one)
    assert.equal((await one.read(patient())).meter, { of: 'transmitter', isZero: true, shown: 'RF off' })
    assert.is((await one.read(patient())).channel, undefined, 'a cell without that parameter')
    acs.channel = '3350, 3400'
    assert.equal((await one.read(patient())).channel, { numbers: [3_350, 3_400] })
    acs.isSending = true
    assert.equal((await one.read(patient())).meter?.isZero, false)
    acs.isReachable = false
    assert.match(await refusal(one.turn(true, patient())), /does not come to GenieACS/)
    assert.equal(acs.waiting, [], 'an order to turn on would come when nobody asks any more')
    assert.match(await refusal(one.read(patient())), /does not come to GenieACS/)
    await refusal(one.turn(false, patient()))
    await refusal(one.turn(false, patient()))
    assert.equal(acs.waiting, [{ name: 'setParameterValues', value: false }])
    assert.match(
      await refusal(genieacsSwitch({ url: acs.url, device: 'other' }, 'lte').read(patient())),
      /knows no device other/,
    )
  } finally {
    await acs.close()
  }
})

switches('GenieACS gives a cell an order that agrees with what it knew of it', async () => {
  const acs = await acsServer()
  try {
    const one = genieacsSwitch({ url: acs.url, device: acs.device }, 'lte')
    await one.turn(true, patient())
    await one.turn(false, patient())
    acs.isAdmin = true
    acs.isSending = true
    await one.turn(false, patient())
    assert.is(acs.isAdmin, false, 'the cell had come back by itself')
  } finally {
    await acs.close()
  }
})

switches('GenieACS keeps no order that a cell refused, and says so', async () => {
  const acs = await acsServer()
  try {
    const one = genieacsSwitch({ url: acs.url, device: acs.device }, 'lte')
    acs.fault = '9003'
    assert.match(await refusal(one.turn(true, patient())), /refuses what GenieACS asks of it: cwmp\.9003/)
    acs.isAdmin = true
    for (let turn = 0; turn < 3; turn += 1) await refusal(one.turn(false, patient()))
    assert.equal([acs.waiting, acs.faults], [[], []])
  } finally {
    await acs.close()
  }
})

switches('GenieACS gives no order to turn on late that nobody waited for', async () => {
  const acs = await acsServer()
  try {
    const one = genieacsSwitch({ url: acs.url, device: acs.device }, 'lte')
    acs.isReachable = false
    acs.answers = false
    assert.match(await refusal(one.turn(true, AbortSignal.timeout(300))), /did not answer in time/)
    assert.is(acs.waiting.length, 1)
    acs.comes(10_000)
    assert.is(acs.isAdmin, false)
  } finally {
    await acs.close()
  }
})

switches.run()
