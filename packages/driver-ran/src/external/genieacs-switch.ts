import { southboundUnavailable, type Technology } from '@steeple/contracts'
import type { HttpRequest } from '@steeple/http-client'
import { type CellSwitch, cellChannel, type GenieacsConfig, type SwitchReading } from './cell-switch.ts'
import { callSwitch, jsonOf } from './http-call.ts'

/** TR-196, FAPControl of an LTE cell. */
const ADMIN_STATE = 'Device.Services.FAPService.1.FAPControl.LTE.AdminState'
const RF_TX_STATUS = 'Device.Services.FAPService.1.FAPControl.LTE.RFTxStatus'
/** TR-196, the channel of the downlink of an LTE cell: a number, or in later issues a list. */
const EARFCN_DL = 'Device.Services.FAPService.1.CellConfig.LTE.RAN.RF.EARFCNDL'
/** How long GenieACS waits for the session of the cell, ms. */
const SESSION_MS = 3_000
/** A task replaces one of the same key that waits: a stop never comes behind a start that waited. */
const TURN_KEY = 'steeple-admin-state'
const READ_KEY = 'steeple-read'

/** A cell that GenieACS manages by TR-069. */
export function genieacsSwitch(config: GenieacsConfig, technology: Technology): CellSwitch {
  const { device, admin = ADMIN_STATE, transmitter = RF_TX_STATUS } = config
  let channel = config.channel ?? (technology === 'lte' ? EARFCN_DL : undefined)
  const base = config.url.replace(/\/$/, '')
  const call = (
    method: HttpRequest['method'],
    path: string,
    body: string | undefined,
    signal: AbortSignal,
  ) => {
    const url = new URL(`${base}${path}`)
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    return callSwitch(config, { method, url, headers, body }, signal).then((answer) => ({ answer, url }))
  }
  /** The task has been done by the cell when it resolves with undefined, else the one that waits. */
  const task = async (what: object, signal: AbortSignal): Promise<string | undefined> => {
    const path = `/devices/${encodeURIComponent(device)}/tasks?connection_request&timeout=${SESSION_MS}`
    const { answer, url } = await call('POST', path, JSON.stringify(what), signal)
    if (answer.status === 200) return undefined
    if (answer.status === 404) throw southboundUnavailable(`GenieACS knows no device ${device}`)
    if (answer.status !== 202) throw southboundUnavailable(`GenieACS answered with ${answer.status}`)
    const { _id: id } = Object(jsonOf(answer, url))
    return String(id)
  }
  return {
    turn: async (isOn, signal) => {
      const waiting = await task(
        { name: 'setParameterValues', parameterValues: [[admin, isOn, 'xsd:boolean']], uniqueKey: TURN_KEY },
        signal,
      )
      if (waiting === undefined) return
      // One that turns off may wait: it is done when the cell comes. One that turns on would come when nobody asks any more.
      if (isOn) await call('DELETE', `/tasks/${encodeURIComponent(waiting)}`, undefined, signal)
      throw southboundUnavailable(
        `the cell ${device} does not come to GenieACS: the order waits or was refused`,
      )
    },
    read: async (signal): Promise<SwitchReading> => {
      const names = [admin, transmitter, ...(channel === undefined ? [] : [channel])]
      const wanted = { name: 'getParameterValues', parameterNames: names, uniqueKey: READ_KEY }
      if ((await task(wanted, signal)) !== undefined)
        throw southboundUnavailable(
          `the cell ${device} does not come to GenieACS, so what it does is unknown`,
        )
      const query = new URLSearchParams({
        query: JSON.stringify({ _id: device }),
        projection: names.join(','),
      })
      const { answer, url } = await call('GET', `/devices/?${query}`, undefined, signal)
      const [found] = [jsonOf(answer, url)].flat()
      const isSending = flagAt(found, transmitter)
      const said = channel === undefined ? undefined : valueAt(found, channel)
      const isTold = channel !== undefined && (said !== undefined || config.channel !== undefined)
      // A cell that does not have what nobody named answers with a fault each time: it is not asked again.
      if (!isTold) channel = undefined
      return {
        isOn: flagAt(found, admin),
        meter: { of: 'transmitter', isZero: !isSending, shown: isSending ? 'RF on' : 'RF off' },
        ...(isTold ? { channel: cellChannel(said, `the cell at ${channel}`) } : {}),
      }
    },
  }
}

/** A parameter as GenieACS keeps it: `_value` at the end of its path. */
function valueAt(document: unknown, path: string): unknown {
  return Object(path.split('.').reduce((at, name) => Object(at)[name], document))._value
}

function flagAt(document: unknown, path: string): boolean {
  const value = valueAt(document, path)
  if (typeof value !== 'boolean') throw southboundUnavailable(`the cell says nothing of ${path}`)
  return value
}
