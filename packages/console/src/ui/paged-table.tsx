import type { Pages } from '../api/use-pages.ts'
import { t } from '../text/index.ts'
import { Button } from './button.tsx'
import { DataTable, type DataTableProps } from './data-table.tsx'
import { Loaded } from './loaded.tsx'

/** A list that comes in pages, as a table with a way to its further rows. */
export function PagedTable<Row>({
  query,
  ...table
}: Omit<DataTableProps<Row>, 'rows' | 'footer'> & { readonly query: Pages<Row> }) {
  const footer = query.more === undefined ? null : <Button onClick={query.more}>{t('ui.more')}</Button>
  return <Loaded query={query}>{(rows) => <DataTable {...table} rows={rows} footer={footer} />}</Loaded>
}
