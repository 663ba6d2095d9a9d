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
/** By the clock of GenieACS: an order to turn on that the cell has not had by then is never given to it, ms. */
const TURN_ON_WITHIN_MS = 7_000
/** A task replaces one of the same key that waits: a stop never comes behind a start that waited. */
const TURN_KEY = 'steeple-admin-state'
const LOOK_KEY = 'steeple-look'
const READ_KEY = 'steeple-read'

/** A cell that GenieACS manages by TR-069. */
export function genieacsSwitch(config: GenieacsConfig, technology: Technology): CellSwitch {
  const { device, admin = ADMIN_STATE, transmitter = RF_TX_STATUS } = config
  const channel = config.channel ?? (technology === 'lte' ? EARFCN_DL : undefined)
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
  const find = async (collection: string, id: string, fields: string, signal: AbortSignal) => {
    const query = new URLSearchParams({ query: JSON.stringify({ _id: id }), projection: fields })
    const { answer, url } = await call('GET', `/${collection}/?${query}`, undefined, signal)
    const [found] = [jsonOf(answer, url)].flat()
    return found
  }
  const post = async (task: object, how: string, signal: AbortSignal) => {
    const path = `/devices/${encodeURIComponent(device)}/tasks${how}`
    const { answer, url } = await call('POST', path, JSON.stringify(task), signal)
    if (answer.status === 404) throw southboundUnavailable(`GenieACS knows no device ${device}`)
    if (answer.status !== 200 && answer.status !== 202)
      throw southboundUnavailable(`GenieACS answered with ${answer.status}`)
    return { answer, url }
  }
  /** The cell has done the task when it resolves. One that it does not fetch waits for it if `mayWait`; one that it refuses does not. */
  const done = async (task: object, mayWait: boolean, signal: AbortSignal): Promise<void> => {
    const { answer, url } = await post(task, `?connection_request&timeout=${SESSION_MS}`, signal)
    if (answer.status === 200) return
    const { _id: id } = Object(jsonOf(answer, url))
    if (typeof id !== 'string') throw southboundUnavailable('GenieACS answered with no task')
    const fault = await find('faults', `${device}:task_${id}`, 'code', signal)
    if (fault !== undefined || !mayWait)
      await call('DELETE', `/tasks/${encodeURIComponent(id)}`, undefined, signal)
    throw southboundUnavailable(
      fault === undefined
        ? `the cell ${device} does not come to GenieACS`
        : `the cell ${device} refuses what GenieACS asks of it: ${Object(fault).code}`,
    )
  }
  return {
    turn: async (isOn, signal) => {
      // GenieACS gives a cell no order that agrees with what it knows of it, and answers as if it had: it reads it anew first.
      const look = { name: 'getParameterValues', parameterNames: [admin], uniqueKey: LOOK_KEY }
      const { answer } = await post(look, '', signal)
      const task = { name: 'setParameterValues', parameterValues: [[admin, isOn, 'xsd:boolean']] }
      // One that turns off may wait: it is done when the cell comes. One that turns on would come when nobody asks any more.
      const expiry = isOn ? { expiry: laterThan(answer.headers.date, TURN_ON_WITHIN_MS) } : {}
      await done({ ...task, ...expiry, uniqueKey: TURN_KEY }, !isOn, signal)
    },
    read: async (signal): Promise<SwitchReading> => {
      const names = [admin, transmitter, ...(channel === undefined ? [] : [channel])]
      await done({ name: 'getParameterValues', parameterNames: names, uniqueKey: READ_KEY }, true, signal)
      const found = await find('devices', device, names.join(','), signal)
      const isSending = flagAt(found, transmitter)
      const said = channel === undefined ? undefined : valueAt(found, channel)
      // A cell need not have a channel that nobody named.
      const isTold = channel !== undefined && (said !== undefined || config.channel !== undefined)
      return {
        isOn: flagAt(found, admin),
        meter: { of: 'transmitter', isZero: !isSending, shown: isSending ? 'RF on' : 'RF off' },
        ...(isTold ? { channel: cellChannel(said, `the cell at ${channel}`) } : {}),
      }
    },
  }
}

/** A time for GenieACS by its own clock, which says when it answered. */
function laterThan(date: string | undefined, ms: number): string {
  const answered = Date.parse(date ?? '')
  if (Number.isNaN(answered)) throw southboundUnavailable('GenieACS answered without a Date')
  return new Date(answered + ms).toISOString()
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
