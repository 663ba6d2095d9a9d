import {
  Button,
  ButtonLink,
  DataTable,
  download,
  EmptyState,
  ErrorNotice,
  filter,
  navigate,
  Progress,
  query,
  Select,
  setFilters,
  t,
  toast,
  useMemo,
  useRows,
  useState,
  word,
} from '@steeple/console/kit'
import { CODE_EVENTS, CODE_STATES, type Code, codeColumns } from './code.tsx'
import { CodeDialog } from './code-dialog.tsx'
import { IssueCodesDialog } from './issue-codes.tsx'

const keyOf = (code: Code): string => code.token

/** The activation codes: given out, shown as QR codes, printed, taken back. */
export function Codes() {
  const asked = useMemo(filterHere, [query.value])
  const codes = useRows('/v1/esim/codes', asked, { keyOf, on: CODE_EVENTS })
  const [shown, setShown] = useState<string | undefined>(undefined)
  const [isIssuing, setIssuing] = useState(filter('do') === 'issue')
  const batch = filter('batch_id')
  const open = codes.rows.find(({ token }) => token === shown)
  return (
    <>
      <div class="toolbar filters">
        <Select
          label={t('sims.filter.state')}
          value={filter('state')}
          onChange={(state) => setFilters({ state })}
          options={[
            { value: '', label: t('sims.filter.all') },
            ...CODE_STATES.map((value) => ({ value, label: word('esim.state', value) })),
          ]}
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
      {codes.error === undefined ? null : <ErrorNotice error={codes.error} onRetry={codes.reload} />}
      {codes.isLoading ? (
        <Progress label={t('app.loading')} />
      ) : (
        <DataTable
          label={t('esim.codes')}
          rows={codes.rows}
          columns={codeColumns((code) => setShown(code.token), false)}
          keyOf={keyOf}
          onOpen={(code) => setShown(code.token)}
          {...(codes.isMore ? { onEnd: codes.more } : {})}
          empty={<NoCodes isFiltered={Object.keys(asked).length > 0} onIssue={() => setIssuing(true)} />}
          footer={codes.isMore ? <Button onClick={codes.more}>{t('ui.more')}</Button> : undefined}
        />
      )}
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
