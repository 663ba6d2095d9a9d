import {
  addStyle,
  Button,
  ButtonLink,
  type Column,
  choices,
  download,
  EmptyState,
  filter,
  type ItemOf,
  Lamp,
  locale,
  may,
  navigate,
  PagedTable,
  pageOf,
  query,
  Select,
  setFilters,
  Tabs,
  Time,
  t,
  toast,
  useMemo,
  usePages,
  useRows,
  useState,
  word,
} from '@steeple/console/kit'
import { Certs } from './certs.tsx'
import { CODE_EVENTS, CODE_STATES, type Code, codeColumns } from './code.tsx'
import { CodeDialog } from './code-dialog.tsx'
import css from './esim.css'
import { IssueCodesDialog } from './issue-codes.tsx'
import { Providers } from './providers.tsx'

const tokenOf = (code: Code): string => code.token

/** The activation codes: given out, shown as QR codes, printed, taken back. */
function Codes() {
  const asked = useMemo(filterHere, [query.value])
  const codes = useRows('/v1/esim/codes', asked, { keyOf: tokenOf, on: CODE_EVENTS })
  const [shown, setShown] = useState<string>()
  const [isIssuing, setIssuing] = useState(filter('do') === 'issue')
  const batch = filter('batch_id')
  const open = codes.rows.find(({ token }) => token === shown)
  return (
    <>
      <div class="toolbar filters">
        <Select
          text="sims.filter.state"
          value={filter('state')}
          onChange={(state) => setFilters({ state })}
          options={choices('esim.state', CODE_STATES, t('sims.filter.all'))}
        />
      </div>
      <div class="toolbar">
        <Button icon="plus" kind="primary" onClick={() => setIssuing(true)}>
          {t('esim.issue')}
        </Button>
        {batch === '' ? null : (
          <>
            <ButtonLink icon="printer" href={`/esim/cards?batch=${batch}`}>
              {t('esim.cards.print')}
            </ButtonLink>
            <Button icon="download" onClick={() => void saveMdmList(batch)}>
              {t('esim.mdm')}
            </Button>
            <Button icon="x" onClick={() => setFilters({ batch_id: undefined })}>
              {t('sims.filter.remove', { what: t('sims.filter.batch_id'), value: batch })}
            </Button>
          </>
        )}
      </div>
      <PagedTable
        query={codes}
        label={t('esim.codes')}
        columns={codeColumns((code) => setShown(code.token), false)}
        keyOf={tokenOf}
        onOpen={(code) => setShown(code.token)}
        onEnd={codes.more}
        empty={<NoCodes isFiltered={Object.keys(asked).length > 0} onIssue={() => setIssuing(true)} />}
      />
      {open === undefined ? null : <CodeDialog code={open} onClose={() => setShown(undefined)} />}
      {isIssuing ? (
        <IssueCodesDialog
          batch={filter('batch')}
          replaces={filter('replaces')}
          onClose={() => {
            setIssuing(false)
            setFilters({ do: undefined, batch: undefined, replaces: undefined })
          }}
        />
      ) : null}
    </>
  )
}

async function saveMdmList(batch: string): Promise<void> {
  const answer = await download('/v1/esim/mdm-list', { query: { batch_id: batch } })
  if (!answer.ok) toast({ text: answer.error.message, tone: 'bad' })
}

interface Asked {
  readonly state?: (typeof CODE_STATES)[number]
  readonly batch_id?: string
}

function filterHere(): Asked {
  const state = CODE_STATES.find((one) => one === filter('state'))
  const batch = filter('batch_id')
  return { ...(state === undefined ? {} : { state }), ...(batch === '' ? {} : { batch_id: batch }) }
}

function NoCodes({ isFiltered, onIssue }: { readonly isFiltered: boolean; readonly onIssue: () => void }) {
  if (isFiltered)
    return (
      <EmptyState
        title={t('esim.none.found')}
        action={<Button onClick={() => navigate('/esim')}>{t('sims.filter.clear')}</Button>}
      />
    )
  return (
    <EmptyState
      title={t('esim.none')}
      action={
        <Button icon="plus" kind="primary" onClick={onIssue}>
          {t('esim.issue')}
        </Button>
      }
    >
      {t('esim.none.help')}
    </EmptyState>
  )
}

addStyle(css)

type Euicc = ItemOf<'/v1/esim/euiccs'>

const keyOf = (euicc: Euicc): string => `${euicc.eid_sha256_12 ?? ''} ${euicc.authority ?? ''}`

/** The eUICCs that have downloaded from here, and what is on them. */
function Euiccs() {
  const euiccs = usePages('/v1/esim/euiccs', {}, ['esim.*'])
  return (
    <PagedTable
      query={euiccs}
      label={t('esim.euiccs')}
      columns={columns()}
      keyOf={keyOf}
      onEnd={euiccs.more}
      empty={<EmptyState title={t('esim.euiccs.none')}>{t('esim.euiccs.none.help')}</EmptyState>}
    />
  )
}

function columns(): readonly Column<Euicc>[] {
  return [
    { text: 'esim.eid', cell: ({ eid_last4: end }) => `…${end ?? ''}` },
    {
      text: 'esim.profiles',
      cell: ({ profiles = [] }) =>
        profiles.map(({ token = '', imsi_sha256_12: hash = '', state = '' }) => (
          <div key={token}>
            <a href={pageOf(hash)}>{hash}</a> {word('esim.profile', state)}
          </div>
        )),
    },
    {
      text: 'sims.lastSeen',
      cell: ({ last_seen_at: at }) => (at ? <Time at={at} relative /> : t('sims.never')),
    },
    {
      text: 'esim.locked',
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
