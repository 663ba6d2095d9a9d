import type { ItemOf } from '@steeple/client'
import { t, word } from '../../text/index.ts'
import { Bytes } from '../../ui/bytes.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { Lamp, type Tone } from '../../ui/lamp.tsx'
import { SubscriberName } from '../../ui/subscriber-name.tsx'
import { Lasted, Time } from '../../ui/time.tsx'

export type Session = ItemOf<'/v1/sessions'>

const TONES: Readonly<Record<string, Tone>> = { active: 'on' }

/** The columns of a list of sessions; whose it is where the list is not of one SIM. Without a cell nobody uses those that are open. */
export function sessionColumns(isOfOne: boolean, isWithoutCell: boolean): readonly Column<Session>[] {
  const whose: Column<Session> = {
    key: 'sim',
    title: t('sessions.sim'),
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
      key: 'state',
      title: t('sessions.state'),
      cell: ({ state }) =>
        isWithoutCell && state !== 'ended' ? (
          <Lamp tone="none" label={t('sessions.state.noCell')} />
        ) : (
          <Lamp tone={TONES[state] ?? 'none'} label={word('sessions.state', state)} />
        ),
    },
    { key: 'apn', title: t('sessions.apn'), cell: ({ apn }) => apn },
    {
      key: 'down',
      title: t('sessions.down'),
      isNumeric: true,
      cell: (session) => <Octets value={session.down_bytes} isIncomplete={session.incomplete} />,
    },
    {
      key: 'up',
      title: t('sessions.up'),
      isNumeric: true,
      cell: (session) => <Octets value={session.up_bytes} isIncomplete={session.incomplete} />,
    },
    { key: 'since', title: t('sessions.since'), cell: ({ started_at: at }) => <Time at={at} relative /> },
    {
      key: 'length',
      title: t('sessions.length'),
      isWide: true,
      cell: ({ started_at: from, ended_at: to }) => <Lasted from={from} to={to} />,
    },
    {
      key: 'address',
      title: t('sessions.address'),
      isWide: true,
      cell: ({ ue_ip: v4, ue_ipv6_prefix: v6 }) => <code>{v4 ?? v6 ?? '–'}</code>,
    },
    {
      key: 'technology',
      title: t('sessions.technology'),
      isWide: true,
      cell: ({ technology }) => word('sessions.technology', technology),
    },
    { key: 'cell', title: t('sessions.cell'), isWide: true, isTight: true, cell: ({ cell }) => cell ?? '–' },
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
