/** The TypeScript client of Keepword: the calls of the Python client, with the API's own names. */
export { Client, type BrowseOptions, type ClientOptions, type MessageInput } from "./client.js";
export * as errors from "./errors.js";
export type * from "./types.js";
