import {
  addStyle,
  Button,
  type Column,
  DataTable,
  EmptyState,
  ErrorNotice,
  filter,
  type ItemOf,
  Lamp,
  locale,
  may,
  Progress,
  pageOf,
  setFilters,
  Tabs,
  Time,
  t,
  useRows,
  word,
} from '@steeple/console/kit'
import { Certs } from './certs.tsx'
import { Codes } from './codes.tsx'
import css from './esim.css'
import { Providers } from './providers.tsx'

addStyle(css)

type Euicc = ItemOf<'/v1/esim/euiccs'>

const keyOf = (euicc: Euicc): string => `${euicc.eid_sha256_12 ?? ''} ${euicc.authority ?? ''}`

/** The eUICCs that have downloaded from here, and what is on them. */
function Euiccs() {
  const euiccs = useRows('/v1/esim/euiccs', {}, { keyOf, on: ['esim.*'] })
  return (
    <>
      {euiccs.error === undefined ? null : <ErrorNotice error={euiccs.error} onRetry={euiccs.reload} />}
      {euiccs.isLoading ? (
        <Progress label={t('app.loading')} />
      ) : (
        <DataTable
          label={t('esim.euiccs')}
          rows={euiccs.rows}
          columns={columns()}
          keyOf={keyOf}
          {...(euiccs.isMore ? { onEnd: euiccs.more } : {})}
          empty={<EmptyState title={t('esim.euiccs.none')}>{t('esim.euiccs.none.help')}</EmptyState>}
          footer={euiccs.isMore ? <Button onClick={euiccs.more}>{t('ui.more')}</Button> : undefined}
        />
      )}
    </>
  )
}

function columns(): readonly Column<Euicc>[] {
  return [
    { key: 'eid', title: t('esim.eid'), cell: ({ eid_last4: end }) => `…${end ?? ''}` },
    {
      key: 'profiles',
      title: t('esim.profiles'),
      cell: ({ profiles = [] }) =>
        profiles.map(({ token = '', imsi_sha256_12: hash = '', state = '' }) => (
          <div key={token}>
            <a href={pageOf(hash)}>{hash}</a> {word('esim.profile', state)}
          </div>
        )),
    },
    {
      key: 'seen',
      title: t('sims.lastSeen'),
      cell: ({ last_seen_at: at }) => (at ? <Time at={at} relative /> : t('sims.never')),
    },
    {
      key: 'locked',
      title: t('esim.locked'),
      isWide: true,
      cell: ({ locked_until: until, failures = 0 }) =>
        until ? (
          <Lamp tone="bad" label={t('esim.locked.until', { at: new Date(until).toLocaleString(locale()) })} />
        ) : failures > 0 ? (
          t('esim.failures', { count: failures })
        ) : (
          ''
        ),
    },
  ]
}

/** eSIM: the codes that were given out, the chips that have used them, and what both believe each other by. */
export function Page() {
  const tabs = [
    ...(may('sim:issuer') ? [{ key: 'codes', title: t('esim.codes'), content: () => <Codes /> }] : []),
    { key: 'euiccs', title: t('esim.euiccs'), content: () => <Euiccs /> },
    ...(may('sim:issuer')
      ? [{ key: 'providers', title: t('esim.providers'), content: () => <Providers /> }]
      : []),
    ...(may('admin') ? [{ key: 'certs', title: t('esim.certs'), content: () => <Certs /> }] : []),
  ]
  return (
    <>
      <h1>{t('esim.title')}</h1>
      <Tabs
        label={t('esim.title')}
        tabs={tabs}
        chosen={filter('tab')}
        onChoose={(tab) => setFilters({ tab })}
      />
    </>
  )
}
