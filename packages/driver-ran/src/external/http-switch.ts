import { messageOf, southboundUnavailable } from '@steeple/contracts'
import type { HttpAnswer } from '@steeple/http-client'
import {
  type CellChannel,
  type CellSwitch,
  cellChannel,
  type HttpConfig,
  powerMeter,
  type SwitchReading,
} from './cell-switch.ts'
import { callSwitch, jsonOf } from './http-call.ts'

/** A relay, a plug or a cell with an HTTP interface. */
export function httpSwitch(config: HttpConfig): CellSwitch {
  const isTaken = ({ status }: HttpAnswer): boolean =>
    config.expected_status?.includes(status) ?? (status >= 200 && status < 300)
  const call = async (
    { method = 'GET', url, body }: HttpConfig['on'],
    signal: AbortSignal,
  ): Promise<{ readonly answer: HttpAnswer; readonly at: URL }> => {
    const at = new URL(url)
    const headers: Record<string, string> =
      body === undefined ? {} : { 'content-type': config.content_type ?? 'application/json' }
    const answer = await callSwitch(config, { method, url: at, headers, body }, signal)
    if (!isTaken(answer))
      throw southboundUnavailable(`${at.origin}${at.pathname} answered with ${answer.status}`)
    return { answer, at }
  }
  const valueAt = async (url: string, pointer: string, signal: AbortSignal): Promise<unknown> => {
    const { answer, at } = await call({ url }, signal)
    return pointed(jsonOf(answer, at), pointer)
  }
  /** A plug does not know it, and a cell without power does not say it: that keeps nothing from being switched. */
  const channelAt = async (url: string, pointer: string, signal: AbortSignal): Promise<CellChannel> => {
    try {
      return cellChannel(await valueAt(url, pointer, signal), `the cell at ${pointer}`)
    } catch (error) {
      return { unknown: messageOf(error) }
    }
  }
  return {
    turn: async (isOn, signal) => {
      await call({ method: 'POST', ...(isOn ? config.on : config.off) }, signal)
    },
    read: async (signal): Promise<SwitchReading> => {
      const { url, pointer, on, off } = config.status
      const found = await valueAt(url, pointer, signal)
      if (found !== on && found !== off)
        throw southboundUnavailable(
          `the switch says neither on nor off at ${pointer}; see ran.external.switch.http.status`,
        )
      const { power, channel } = config
      const [watts, said] = await Promise.all([
        power && valueAt(power.url ?? url, power.pointer, signal),
        channel && channelAt(channel.url ?? url, channel.pointer, signal),
      ])
      return {
        isOn: found === on,
        ...(power && { meter: powerMeter(watts, `the switch at ${power.pointer}`) }),
        ...(said && { channel: said }),
      }
    },
  }
}

/** RFC 6901; undefined where nothing is. */
function pointed(root: unknown, pointer: string): unknown {
  let value = root
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = Reflect.get(value, name)
  }
  return value
}
