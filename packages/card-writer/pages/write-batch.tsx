import { Button, ErrorNotice, Notice, t, useQuery, useState } from '@steeple/console/kit'
import { firstUnwritten, WriteDialog } from './write.tsx'

/** Offers to write the SIMs of a batch on cards, one after another. */
export function Panel({ batch }: { readonly batch: string }) {
  const [isOpen, setOpen] = useState(false)
  const cards = useQuery(isOpen ? '/v1/cards' : undefined, { query: { batch_id: batch, limit: 500 } })
  const first = firstUnwritten(cards.data?.cards ?? [])
  return (
    <>
      <Button isBusy={isOpen && cards.isLoading} onClick={() => setOpen(true)}>
        {t('card.write.batch')}
      </Button>
      <ErrorNotice error={cards.error} />
      {isOpen && cards.data !== undefined && first === undefined ? (
        <Notice tone="ok">{t('card.write.batch.done')}</Notice>
      ) : null}
      {isOpen && first !== undefined ? (
        <WriteDialog first={first} batch={batch} onClose={() => setOpen(false)} />
      ) : null}
    </>
  )
}
