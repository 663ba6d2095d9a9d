import type { ItemOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { me } from '../../api/session.ts'
import { useQuery } from '../../api/use-query.ts'
import { usePages } from '../../api/use-rows.ts'
import { t, word } from '../../text/index.ts'
import { Button, RowButton } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { PagedTable } from '../../ui/data-table.tsx'
import { Closing, Dialog, FormDialog } from '../../ui/dialog.tsx'
import { Select } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { EmptyState } from '../../ui/parts.tsx'
import { whoText } from '../../ui/who.ts'
import { NewcomerDialog, rolesText } from './roles.tsx'
import { Secret, ShownOnce } from './shown-once.tsx'

const LENGTHS = ['24h', '7d', '30d', '90d', '365d', ''] as const

/** Makes a token for a program; what it is, is shown once. */
function TokenDialog({ onClose }: { readonly onClose: () => void }) {
  const [length, setLength] = useState<string>('90d')
  const [made, setMade] = useState<{ readonly name: string; readonly token: string }>()
  if (made !== undefined)
    return (
      <ShownOnce title={t('people.token.made', { name: made.name })} onClose={onClose}>
        <Secret label={t('people.token')} text={made.token} />
        <p>{t('people.token.use')}</p>
      </ShownOnce>
    )
  return (
    <NewcomerDialog
      text="people.token.make"
      help={t('people.token.name.help')}
      make={(newcomer) =>
        api.post('/v1/tokens', { body: { ...newcomer, ...(length === '' ? {} : { expires_in: length }) } })
      }
      onDone={setMade}
      onClose={onClose}
    >
      <Select
        text="people.token.for"
        value={length}
        onChange={setLength}
        options={LENGTHS.map((value) => ({
          value,
          label: value === '' ? t('people.token.forever') : t(`people.for.${value}`),
        }))}
      />
    </NewcomerDialog>
  )
}

type Token = ItemOf<'/v1/tokens'>

/** Tokens of programs, made and deleted. */
export function Tokens() {
  const [isMaking, setMaking] = useState(false)
  const [chosen, setChosen] = useState<Token>()
  const tokens = usePages('/v1/tokens', {}, ['token.*', 'user.*'])
  return (
    <>
      <div class="toolbar">
        <Button icon="plus" kind="primary" onClick={() => setMaking(true)}>
          {t('people.token.make')}
        </Button>
      </div>
      <PagedTable
        query={tokens}
        label={t('people.tokens')}
        columns={columns(setChosen)}
        keyOf={({ id }) => id}
        empty={<EmptyState title={t('people.tokens.none')}>{t('people.tokens.none.help')}</EmptyState>}
      />
      {isMaking ? (
        <TokenDialog
          onClose={() => {
            setMaking(false)
            tokens.reload()
          }}
        />
      ) : null}
      {chosen === undefined ? null : (
        <DeleteDialog
          token={chosen}
          tokens={tokens.data ?? []}
          onDone={tokens.reload}
          onClose={() => setChosen(undefined)}
        />
      )}
    </>
  )
}

/** Whether this page speaks by a token: no list says which one that is but by its name. */
function isOwn({ name, kind }: Token): boolean {
  return me.value?.kind === 'token' && me.value.name === name && kind === 'api'
}

/** No page asks for more. */
const LOOKED_THROUGH = 500

/** Takes a token away; not the one that this page speaks by, while it is the only way in that anybody has shown to work. */
function DeleteDialog({
  token,
  tokens,
  onDone,
  onClose,
}: {
  readonly token: Token
  readonly tokens: readonly Token[]
  readonly onDone: () => void
  readonly onClose: () => void
}) {
  const isOurs = isOwn(token)
  const users = useQuery(isOurs ? '/v1/users' : undefined, { query: { limit: LOOKED_THROUGH } })
  const isOnly =
    users.data !== undefined &&
    !users.data.users.some((user) => isAdmin(user) && user.last_login_at !== null) &&
    !tokens.some((other) => other.id !== token.id && isAdmin(other) && other.expires_at === null)
  const title = t('people.token.delete.title', { name: token.name })
  if (isOurs && isOnly)
    return (
      <Dialog isOpen title={title} onClose={onClose}>
        <Notice tone="warn">{t('people.token.delete.only')}</Notice>
        <Closing onClose={onClose} />
      </Dialog>
    )
  return (
    <FormDialog
      text="people.token.delete"
      title={title}
      isDanger
      isDisabled={isOurs && users.isLoading}
      act={() => api.delete('/v1/tokens/{id}', { path: { id: token.id } })}
      onDone={onDone}
      onClose={onClose}
    >
      {isOurs ? <Notice tone="warn">{t('people.token.delete.own')}</Notice> : null}
    </FormDialog>
  )
}

function isAdmin({ roles }: { readonly roles: readonly string[] }): boolean {
  return roles.includes('admin')
}

function columns(onDelete: (token: Token) => void): readonly Column<Token>[] {
  return [
    { text: 'people.name', of: 'name', isSortable: true },
    {
      text: 'people.roles',
      cell: ({ kind, roles }) => (kind === 'api' ? rolesText(roles) : word('people.token.kind', kind)),
    },
    { text: 'people.until', of: 'expires_at', as: 'ago', none: 'people.token.forever' },
    { text: 'people.token.used', of: 'last_used_at', as: 'ago', none: 'people.never', isWide: true },
    { text: 'people.by', cell: ({ created_by }) => whoText(created_by), isWide: true },
    {
      text: 'people.actions',
      cell: (token) => (
        <RowButton text="people.token.delete" of={token.name} onClick={() => onDelete(token)} />
      ),
    },
  ]
}
