import type { AnswerOf } from '@steeple/client'
import { t } from '../../text/index.ts'
import { DataTable } from '../../ui/data-table.tsx'
import { Notice } from '../../ui/notice.tsx'

/** The first rows of a rehearsal as the service understands them, to compare with the file; and the columns it does not read. */
export function FirstRows({ answer }: { readonly answer: AnswerOf<'POST', '/v1/sims/import'> }) {
  const rows = answer.first_rows ?? []
  const unread = answer.columns.filter(({ name, read_as }) => read_as === null && name !== '')
  return (
    <>
      {unread.length === 0 ? null : (
        <Notice>{t('import.unread', { columns: unread.map(({ name }) => name).join(', ') })}</Notice>
      )}
      {rows.length === 0 ? null : (
        <DataTable
          label={t('import.first')}
          rows={rows}
          keyOf={({ row }) => String(row)}
          columns={[
            { key: 'line', title: t('import.line'), isNumeric: true, cell: ({ line, row }) => line ?? row },
            { key: 'sim', title: t('sims.hash'), cell: ({ imsi_sha256_12: hash }) => <code>{hash}</code> },
            {
              key: 'card',
              title: t('import.card'),
              cell: ({ iccid_last4: end }) => (end === null ? '–' : `…${end}`),
            },
            { key: 'number', title: t('import.number'), cell: ({ msisdn }) => msisdn ?? '–' },
            { key: 'apns', title: t('import.apns'), cell: ({ apns }) => apns.join(', ') },
            { key: 'label', title: t('sims.label'), cell: ({ label }) => label ?? '–' },
          ]}
        />
      )}
    </>
  )
}
