import { messageOf, southboundUnavailable } from '@steeple/contracts'
import snmp, { type Session, type Varbind } from 'net-snmp'
import { type CellSwitch, powerMeter, type SnmpConfig, type SwitchReading, secretOf } from './cell-switch.ts'

/** RFC 3621: pethPsePortAdminEnable (TruthValue of RFC 2579: true 1, false 2) and pethPsePortDetectionStatus. */
const ADMIN_ENABLE = '1.3.6.1.2.1.105.1.1.1.3'
const DETECTION_STATUS = '1.3.6.1.2.1.105.1.1.1.6'
const TRUE = 1
const FALSE = 2
const DISABLED = 1
const DETECTION = ['disabled', 'searching', 'deliveringPower', 'fault', 'test', 'otherFault']

const TRY_MS = 1_000
const RETRIES = 2

/** A port of a switch with power over Ethernet. */
export function snmpSwitch(config: SnmpConfig): CellSwitch {
  const { host, power } = config
  const index = `${config.group ?? 1}.${config.port_index}`
  const admin = `${ADMIN_ENABLE}.${index}`
  const asked = [admin, `${DETECTION_STATUS}.${index}`, ...(power === undefined ? [] : [power.oid])]
  const ask = async <T>(work: (session: Session) => Promise<T>, signal: AbortSignal): Promise<T> => {
    const session = await openSession(config)
    const end = (): void => void session.close()
    signal.addEventListener('abort', end, { once: true })
    try {
      signal.throwIfAborted()
      return await work(session)
    } catch (error) {
      const isUnanswered = signal.aborted || (error instanceof Error && error.name === 'RequestTimedOutError')
      const why = isUnanswered ? 'no answer: see its address, community and keys' : messageOf(error)
      throw southboundUnavailable(`the switch ${host} cannot be asked by SNMP: ${why}`, { cause: error })
    } finally {
      signal.removeEventListener('abort', end)
      if (!signal.aborted) session.close()
    }
  }
  return {
    turn: async (isOn, signal) => {
      const wanted = { oid: admin, type: snmp.ObjectType.Integer, value: isOn ? TRUE : FALSE }
      await ask((session) => answerOf((done) => session.set([wanted], done)), signal)
    },
    read: async (signal): Promise<SwitchReading> => {
      const [enabled, detection, watts] = await ask(
        (session) => answerOf((done) => session.get(asked, done)),
        signal,
      )
      const state = stateOf(enabled, detection, host)
      if (power === undefined) return state
      return { ...state, meter: powerMeter(Number(watts) / (power.per_watt ?? 1), `${host} at ${power.oid}`) }
    },
  }
}

function stateOf(enabled: unknown, detection: unknown, host: string): SwitchReading {
  if (enabled === TRUE) return { isOn: true }
  if (enabled !== FALSE)
    throw southboundUnavailable(`${host} says neither true nor false of pethPsePortAdminEnable`)
  if (detection === DISABLED) return { isOn: false }
  const word = DETECTION[Number(detection) - 1] ?? 'nothing known'
  throw southboundUnavailable(`${host} has disabled the port, but its pethPsePortDetectionStatus is ${word}`)
}

async function openSession(config: SnmpConfig): Promise<Session> {
  const {
    host,
    port = 161,
    user,
    community_file: communityFile,
    auth,
    auth_file: authFile,
    priv,
    priv_file: privFile,
  } = config
  const common = {
    port,
    retries: RETRIES,
    timeout: TRY_MS,
    transport: host.includes(':') ? 'udp6' : 'udp4',
  } as const
  if (user === undefined) {
    const community = await secretOf(communityFile ?? '')
    return watched(snmp.createSession(host, community, { ...common, version: snmp.Version2c }))
  }
  const authKey = authFile === undefined ? undefined : await secretOf(authFile)
  const privKey = privFile === undefined ? undefined : await secretOf(privFile)
  const level =
    snmp.SecurityLevel[
      privKey !== undefined ? 'authPriv' : authKey !== undefined ? 'authNoPriv' : 'noAuthNoPriv'
    ]
  return watched(
    snmp.createV3Session(
      host,
      {
        name: user,
        level,
        ...(authKey === undefined ? {} : { authProtocol: snmp.AuthProtocols[auth ?? 'sha256'], authKey }),
        ...(privKey === undefined ? {} : { privProtocol: snmp.PrivProtocols[priv ?? 'aes'], privKey }),
      },
      { ...common, version: snmp.Version3 },
    ),
  )
}

/** An error of the socket without a listener would end the service; the request says it by its timeout. */
function watched(session: Session): Session {
  return session.on('error', () => undefined)
}

/** The values of an answer. Rejects with what the agent said against it. */
async function answerOf(
  send: (done: (error: Error | null, varbinds?: Varbind[]) => void) => void,
): Promise<readonly unknown[]> {
  return await new Promise((resolve, reject) => {
    send((error, varbinds = []) => {
      const refused = varbinds.find((one) => snmp.isVarbindError(one))
      if (error !== null) reject(error)
      else if (refused !== undefined) reject(new Error(snmp.varbindError(refused)))
      else resolve(varbinds.map(({ value }) => value))
    })
  })
}
