import { type Technology, validationFailed } from '@steeple/contracts'
import { carriersOf, channelsAtKhz, khzFromMhz } from '@steeple/telecom'
import type { CheckRequest } from './check.ts'

type OneOrMore = number | readonly number[]

/** The body of `POST /v1/spectrum/check`: one of the ways to name channels, and what narrows it. */
export interface CheckBody extends Pick<CheckRequest, 'bandwidth_mhz' | 'country'> {
  readonly technology?: Technology
  readonly channels?: readonly number[]
  readonly channel?: number
  readonly earfcn?: OneOrMore
  readonly nr_arfcn?: OneOrMore
  readonly frequency_mhz?: OneOrMore
  readonly band?: string | number | undefined
}

const NAMED_BY = ['channels', 'channel', 'earfcn', 'nr_arfcn', 'frequency_mhz'] as const
const TECHNOLOGIES: readonly Technology[] = ['lte', 'nr']

/**
 * What a body asks, with everything said: several where it leaves open a technology or a band that frequencies can mean.
 *
 * Throws `validation_failed` when it names no channel, names them twice, or contradicts itself on the technology.
 */
export function requestsOf(body: CheckBody): readonly CheckRequest[] {
  const [by, ...more] = NAMED_BY.filter((key) => body[key] !== undefined)
  if (by === undefined || more.length > 0) {
    throw wrong(`/${more[0] ?? 'channels'}`, `name the channels in one of ${NAMED_BY.join(', ')}`)
  }
  const numbers = [body[by] ?? []].flat()
  const { bandwidth_mhz, country } = body
  const narrow = { bandwidth_mhz, country }
  return technologiesOf(body).flatMap((technology) => {
    const band = bandOf(body, technology)
    if (by !== 'frequency_mhz') return [{ technology, channels: numbers, band, ...narrow }]
    return byFrequency(technology, numbers, band).map((found) => ({ technology, ...found, ...narrow }))
  })
}

function technologiesOf(body: CheckBody): readonly Technology[] {
  const { earfcn, nr_arfcn: nrArfcn, technology, band, channel, channels } = body
  const said = new Set<Technology>()
  if (technology !== undefined) said.add(technology)
  if (earfcn !== undefined || String(band).startsWith('b')) said.add('lte')
  if (nrArfcn !== undefined || String(band).startsWith('n')) said.add('nr')
  if (said.size > 1)
    throw wrong(
      '/band',
      'technology, channel and band name LTE and NR at once; LTE bands are b3 or 3, NR bands n78 or 78',
    )
  if (said.size === 1) return [...said]
  const numbers = channels ?? (channel === undefined ? [] : [channel])
  const known = TECHNOLOGIES.filter((each) => numbers.every((number) => carriersOf(each, number).length > 0))
  return known.length === 0 ? TECHNOLOGIES.slice(0, 1) : known
}

function bandOf({ band }: CheckBody, technology: Technology): string | undefined {
  return typeof band === 'number' ? `${technology === 'lte' ? 'b' : 'n'}${band}` : band
}

/** In each band that has them all, the channels nearest to the frequencies. */
function byFrequency(
  technology: Technology,
  frequencies: readonly number[],
  band: string | undefined,
): readonly Pick<CheckRequest, 'band' | 'channels'>[] {
  const places = frequencies.map((mhz) => channelsAtKhz(technology, khzFromMhz(mhz)))
  const bands = (places[0] ?? [])
    .map((place) => place.band)
    .filter((name) => band === undefined || name === band)
  return bands.flatMap((name) => {
    const channels = places.flatMap((place) =>
      place.filter((each) => each.band === name).map((each) => each.channel),
    )
    return channels.length === frequencies.length ? [{ band: name, channels }] : []
  })
}

/** A sentence that says by itself what is wrong, and with which field. */
export function wrong(pointer: string, message: string): Error {
  return validationFailed(message, { details: [{ pointer, message }] })
}
