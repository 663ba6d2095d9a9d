import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { saveFile } from '../../ui/save-file.ts'
import type { SimFilter } from './filters.tsx'

/** Saves what the list shows, and what is behind it, as a CSV without secrets. */
export function ExportButton({ filter }: { readonly filter: SimFilter }) {
  const take = useAction(() => api.get('/v1/sims/export', { query: filter }))
  const save = async (): Promise<void> => {
    const answer = await take.run()
    if (answer?.ok === true) saveFile('sims.csv', answer.data, 'text/csv')
  }
  return (
    <>
      <Button onClick={() => void save()} isBusy={take.isBusy}>
        {t('sims.export')}
      </Button>
      {take.error === undefined ? null : <ErrorNotice error={take.error} />}
    </>
  )
}
