import { Button, Card, DataTable, ErrorNotice, type Sim, t, useRows, useState } from '@steeple/console/kit'
import { CODE_EVENTS, type Code, codeColumns } from './code.tsx'
import { CodeDialog } from './code-dialog.tsx'
import { IssueCodesDialog } from './issue-codes.tsx'

const keyOf = (code: Code): string => code.token

/** The activation codes of one SIM. */
export function Panel({ sim }: { readonly sim: Sim }) {
  const hash = sim.imsi_sha256_12
  const codes = useRows('/v1/esim/codes', { imsi: hash }, { keyOf, on: CODE_EVENTS })
  const [shown, setShown] = useState<string>()
  const [isIssuing, setIssuing] = useState(false)
  const open = codes.rows.find(({ token }) => token === shown)
  return (
    <Card title={t('esim.title')}>
      <ErrorNotice error={codes.error} onRetry={codes.reload} />
      <DataTable
        label={t('esim.codes')}
        rows={codes.rows}
        columns={codeColumns((code) => setShown(code.token), true)}
        keyOf={keyOf}
        onOpen={(code) => setShown(code.token)}
        empty={<p class="fine">{t('esim.none.own')}</p>}
      />
      {sim.state === 'revoked' ? null : (
        <Button onClick={() => setIssuing(true)}>{t('esim.issue.own')}</Button>
      )}
      {open === undefined ? null : <CodeDialog code={open} onClose={() => setShown(undefined)} />}
      {isIssuing ? (
        <IssueCodesDialog batch="" replaces="" sim={hash} onClose={() => setIssuing(false)} />
      ) : null}
    </Card>
  )
}
