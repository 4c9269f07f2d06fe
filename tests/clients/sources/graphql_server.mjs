// A GraphQL server: graphql-http over a small library.
//
//   node graphql_server.mjs PORT
//
// GET /__mocks/heard gives what was asked, the newest last, and whether whoever asked has left.
import { createServer } from "node:http";
import { buildSchema } from "graphql";
import { createHandler } from "graphql-http/lib/use/http";

const [port] = process.argv.slice(2);
const schema = buildSchema(`
  "A book of the library." type Book { id: ID! title: String! shelf: Shelf tags: [String!]! author: Author! }
  type Author { name: String! books(first: Int = 10): [Book!]! }
  enum Shelf { TALES FACTS }
  input NewBook { title: String! author: String! shelf: Shelf }
  type Query {
    "Finds books by a word of their title." findBooks(word: String!, shelf: Shelf): [Book!]!
    "The inventory, counted by hand." inventory: Int!
  }
  type Mutation { addBook(book: NewBook!): Book! }
`);
/** @type {{id: string, title: string, shelf?: string, tags: string[], author: unknown}[]} */
const books = [];
const by = (/** @type {string} */ name) => ({
  name,
  books: (/** @type {{first: number}} */ { first }) =>
    books.filter((book) => /** @type {any} */ (book.author).name === name).slice(0, first),
});
books.push({ id: "1", title: "Momo", shelf: "TALES", tags: ["time"], author: by("Ende") });

const rootValue = {
  findBooks: (/** @type {{word: string, shelf?: string}} */ { word, shelf }) =>
    books.filter((one) => one.title.includes(word) && (shelf ?? one.shelf) === one.shelf),
  addBook: (/** @type {{book: {title: string, author: string, shelf?: string}}} */ { book }) => {
    if (books.some(({ title }) => title === book.title)) throw new Error(`${book.title} is there`);
    const id = String(books.length + 1);
    const made = { id, title: book.title, shelf: book.shelf, tags: [], author: by(book.author) };
    books.push(made);
    return made;
  },
  inventory: () => new Promise(() => {}),
};
const handler = createHandler({ schema, rootValue });
/** @type {{path: string | undefined, left: boolean}[]} */
const heard = [];

createServer((request, response) => {
  if (request.url === "/__mocks/heard") {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(heard));
    return;
  }
  const entry = { path: request.url, left: false };
  heard.push(entry);
  response.on("close", () => (entry.left = !response.writableEnded));
  void handler(request, response);
}).listen(Number(port), "127.0.0.1");
