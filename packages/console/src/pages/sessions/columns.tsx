import type { AnswerOf, ItemOf } from '@steeple/client'
import { useQuery } from '../../api/use-query.ts'
import { t, word } from '../../text/index.ts'
import { Bytes } from '../../ui/bytes.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { Lamp, type Tone } from '../../ui/parts.tsx'
import { SubscriberName } from '../../ui/subscriber-name.tsx'
import { Lasted } from '../../ui/time.tsx'

export type Session = ItemOf<'/v1/sessions'>

const TONES: Readonly<Record<string, Tone>> = { active: 'on' }

/** The columns of a list of sessions; whose it is where the list is not of one SIM. Without a cell nobody uses those that are open. */
export function sessionColumns(isOfOne: boolean, isWithoutCell: boolean): readonly Column<Session>[] {
  const whose: Column<Session> = {
    text: 'sessions.sim',
    cell: ({ imsi_sha256_12: hash, label }) => (
      <>
        <SubscriberName hash={hash} label={label} />{' '}
        {label === null ? null : <code class="fine">{hash}</code>}
      </>
    ),
  }
  return [
    ...(isOfOne ? [] : [whose]),
    {
      text: 'sessions.state',
      cell: ({ state }) =>
        isWithoutCell && state !== 'ended' ? (
          <Lamp tone="none" label={t('sessions.state.noCell')} />
        ) : (
          <Lamp tone={TONES[state] ?? 'none'} label={word('sessions.state', state)} />
        ),
    },
    { text: 'sessions.apn', of: 'apn' },
    {
      text: 'sessions.down',
      isNumeric: true,
      cell: (session) => <Octets value={session.down_bytes} isIncomplete={session.incomplete} />,
    },
    {
      text: 'sessions.up',
      isNumeric: true,
      cell: (session) => <Octets value={session.up_bytes} isIncomplete={session.incomplete} />,
    },
    { text: 'sessions.since', of: 'started_at', as: 'ago' },
    {
      text: 'sessions.length',
      isWide: true,
      cell: ({ started_at: from, ended_at: to }) => <Lasted from={from} to={to} />,
    },
    {
      text: 'sessions.address',
      isWide: true,
      cell: ({ ue_ip: v4, ue_ipv6_prefix: v6 }) => <code>{v4 ?? v6 ?? '–'}</code>,
    },
    {
      text: 'sessions.technology',
      isWide: true,
      cell: ({ technology }) => word('sessions.technology', technology),
    },
    { text: 'sessions.cell', isWide: true, isTight: true, of: 'cell' },
  ]
}

/** What some source may have missed is said. */
function Octets({ value, isIncomplete }: { readonly value: number; readonly isIncomplete: boolean }) {
  return (
    <>
      {isIncomplete ? <abbr title={t('sessions.incomplete')}>≥ </abbr> : null}
      <Bytes value={value} />
    </>
  )
}

const LOOK = { on: ['tx.*', 'ran.*', 'health.*'], everyMs: 30_000 } as const

/** Whether no base station is there: a core keeps the sessions of phones that have lost their network. */
export function hasNoCell({ enb }: Pick<AnswerOf<'GET', '/v1/status'>, 'enb'>): boolean {
  return enb.known && !enb.connected && enb.other_networks.length === 0
}

/** The same as it is now; false while it is not known. */
export function useNoCell(): boolean {
  const { data } = useQuery('/v1/status', {}, LOOK)
  return data !== undefined && hasNoCell(data)
}
