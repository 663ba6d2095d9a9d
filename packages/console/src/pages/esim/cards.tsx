import './esim.css'
import { useEffect, useState } from 'preact/hooks'
import { filter } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Progress } from '../../ui/progress.tsx'
import { QrCode } from '../../ui/qr-code.tsx'
import { Time } from '../../ui/time.tsx'
import { type Card, type Cards, readCards } from './read-cards.ts'

/** Cards to print: one for each code of a batch that can still be used, or one for a single code. */
export function Page() {
  const [batch, code] = [filter('batch'), filter('code')]
  const [cards, setCards] = useState<Cards>({ cards: [], total: undefined, error: undefined })
  useEffect(() => {
    const ending = new AbortController()
    void readCards(batch, code, ending.signal, setCards)
    return () => ending.abort()
  }, [batch, code])
  const isDone = cards.total !== undefined && cards.cards.length >= cards.total
  return (
    <>
      <h1 class="no-print">{t('esim.cards.title')}</h1>
      <div class="toolbar no-print">
        <Button kind="primary" isDisabled={!isDone || cards.cards.length === 0} onClick={() => print()}>
          {t('esim.cards.print')}
        </Button>
        <ButtonLink href={batch === '' ? '/esim' : `/esim?batch_id=${batch}`}>{t('esim.codes')}</ButtonLink>
      </div>
      {cards.error === undefined ? null : <ErrorNotice error={cards.error} />}
      {isDone || cards.error !== undefined ? null : (
        <Progress
          label={t('app.loading')}
          {...(cards.total === undefined ? {} : { value: cards.cards.length, max: cards.total })}
        />
      )}
      {isDone && cards.cards.length === 0 ? (
        <EmptyState title={t('esim.cards.none')}>
          {t(batch === '' && code === '' ? 'esim.cards.unchosen' : 'esim.cards.none.help')}
        </EmptyState>
      ) : null}
      {cards.cards.length === 0 ? null : <p class="fine no-print">{t('esim.code.secret')}</p>}
      <ul class="sheet">
        {cards.cards.map((card) => (
          <li key={card.token}>
            <CardToPrint card={card} />
          </li>
        ))}
      </ul>
    </>
  )
}

function CardToPrint({ card }: { readonly card: Card }) {
  return (
    <article class="print-card">
      <QrCode text={card.qrText} what={t('esim.code.title', { iccid: card.iccidLast4 })} />
      <div>
        <h2>{card.label}</h2>
        <p>{t('esim.card.iccid', { iccid: card.iccidLast4 })}</p>
        <p class="fine">
          {t('esim.card.how')} <Time at={card.expiresAt} dateOnly />
        </p>
        {card.isConfirmed ? <p class="fine">{t('esim.card.confirmation')}</p> : null}
      </div>
      <code>{card.activationCode}</code>
    </article>
  )
}
